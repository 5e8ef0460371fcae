/**
 * A process of one contender, asked by its parent: it produces, consumes, or looks into the queue. Its
 * first message names the contender, whose code is the only one that it loads.
 */
import { loadContender } from "../contenders/all.ts";
import type { Contender } from "../contenders/contender.ts";
import { Consuming } from "./consuming.ts";
import { Producing } from "./producing.ts";
import type { CallName, Given, ToChild, ToParent, Value } from "./protocol.ts";

type Answering = { [Name in CallName]: (given: Given<Name>) => Promise<Value<Name>> | Value<Name> };

process.on("disconnect", () => process.exit()); // nothing outlives its parent

const tell = (message: ToParent): void => void process.send?.(message);
let loaded: Promise<Answering> | undefined;

process.on("message", async (message: ToChild) => {
  if ("load" in message) {
    loaded = loadContender(message.load).then(callsOf);
    loaded.catch((error) => {
      console.error(error);
      process.exit(1);
    });
    return;
  }
  const { id, call, given } = message;
  try {
    const calls = await loaded;
    if (calls === undefined) throw new Error("No contender was named: send load first.");
    tell({ id, value: await calls[call](given as never) });
  } catch (error) {
    tell({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});

function callsOf(contender: Contender): Answering {
  const producing = new Producing(contender);
  const consuming = new Consuming(contender, tell);
  return {
    prepare: ({ url, kinds }) => contender.prepare(url, kinds),
    unfinished: ({ url }) => contender.unfinished(url),
    prune: async ({ url, olderThanMs }) => (await contender.prune?.(url, olderThanMs)) ?? 0,
    openProducer: (given) => producing.open(given),
    fill: (given) => producing.fill(given),
    trickle: (given) => producing.trickle(given),
    pace: (given) => producing.pace(given),
    openConsumer: (given) => consuming.open(given),
    firstJob: ({ withinMs }) => consuming.firstJob(withinMs),
    go: () => consuming.go(),
    stop: () => consuming.stop(),
    runs: () => consuming.runs(),
  } satisfies Answering;
}
