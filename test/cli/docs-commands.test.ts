import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { leasehold } from "./binary.ts";
import {
  type Line,
  listed,
  mentioned,
  shellLines,
  typedInText,
  unmarkedBlocks,
} from "./docs-commands.ts";
import { recipeOf } from "./docs-recipes.ts";
import { openWorld, type World } from "./docs-world.ts";

/* Whoever types what the documentation shows gets what it promises. */

/** Programs that are not ours, and why their lines are not run here. */
const elsewhere: Readonly<Record<string, string>> = {
  npm: "npm's own, and the repository's scripts, which .ci/run runs",
  "create-next-app": "test/browser/stranger.e2e.ts makes such a project",
  curl: "test/browser/stranger.e2e.ts drains so",
  supabase: "it needs Docker; test/browser/init.e2e.ts applies the migrations as it does",
  docker: "the tests start a PostgreSQL of their own",
  psql: "it need not be installed; test/support/template.ts runs the script that --print prints",
  mkdir: "each line has a folder of its own",
  cd: "each line has a folder of its own",
  cp: "test/browser/stranger.e2e.ts does what init says",
  export: "each line has the variables of its reader",
  set: "each line has the variables of its reader",
};

/** What SIGTERM makes of a command that runs until it is stopped, as docs/cli.md says. */
const terminated = 143;

/** Each line once, at the first place that shows it. */
function toRun(): (readonly [name: string, line: Line])[] {
  const all = [...shellLines(), ...typedInText(), ...listed()];
  const ours = all.filter(({ program }) => program === "leasehold" || program === "node");
  const byCode = new Map(ours.reverse().map((line) => [line.code, line]));
  return [...byCode.values()].reverse().map((line) => [`${line.code} (${line.place})`, line]);
}

describe("a command that the documentation shows", () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world?.close());

  it.each(toRun())("does its work: %s", async (_, line) => {
    const { code, stderr } = await world.run(line);
    const expected = recipeOf(line).begun === undefined ? 0 : terminated;
    expect(code, `${line.place}: ${line.code}\n${stderr}`).toBe(expected);
  });

  it("stands in a block that is marked as the shell's, or in the text", () => {
    expect(unmarkedBlocks(), "mark these with sh").toEqual([]);
  });

  it("is left out only where the program is not ours, and a reason is given", () => {
    const known = ["leasehold", "node", ...Object.keys(elsewhere)];
    const strange = shellLines().filter(({ program }) => !known.includes(program));
    const places = strange.map(({ place, code }) => `${place}: ${code}`);
    expect(places, "say in `elsewhere` why these are not run").toEqual([]);
  });
});

describe("the table of commands", () => {
  it("lists every command, and all options that are not those of every command", async () => {
    const common = ["--schema", "--database-url", "--json", "--debug", "--help"];
    const own = async (command: string) =>
      (await optionsOf(command)).filter((option) => !common.includes(option));
    const commands = listed();
    const names = commands.map(({ command }) => command).sort();
    expect(names).toEqual((await commandNames()).sort());
    const known = await Promise.all(commands.map(({ command }) => own(command)));
    const table = commands.map(({ command, options }) => [command, [...options].sort()]);
    expect(Object.fromEntries(table)).toEqual(
      Object.fromEntries(commands.map(({ command }, i) => [command, known[i]?.sort()])),
    );
  });
});

describe("what the text says of a command", () => {
  const all = mentioned().map(({ code, place }) => [code, place] as const);
  it.each(all)("names what there is: %s (%s)", async (code) => {
    const [, command = ""] = code.split(" ");
    expect(await commandNames()).toContain(command);
    const [own = ""] = code.split(" -- "); // behind it stands another's command
    const known = await optionsOf(command);
    for (const [option] of own.matchAll(/--[a-z][\w-]*/g)) expect(known).toContain(option);
  });
});

const helps = new Map<string, Promise<string>>();

/** What the program says of itself, or of a command. */
function helpOf(...command: string[]): Promise<string> {
  const name = command.join();
  const help = helps.get(name) ?? leasehold([...command, "--help"]).then(({ stdout }) => stdout);
  helps.set(name, help);
  return help;
}

async function commandNames(): Promise<string[]> {
  const [, commands = ""] = (await helpOf()).split("\nCOMMANDS\n");
  return [...commands.matchAll(/^ +([a-z][\w-]*) {2}/gm)].map(([, name = ""]) => name);
}

async function optionsOf(command: string): Promise<string[]> {
  const [, options = ""] = (await helpOf(command)).split("\nOPTIONS\n");
  return [...options.matchAll(/^ +(?:-\w, )?(--[a-z][\w-]*)/gm)].map(([, option = ""]) => option);
}
