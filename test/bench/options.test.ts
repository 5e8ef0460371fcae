import { expect, test } from "vitest";
import { chosen, contendersOf, slug } from "../../bench/harness/choose.ts";
import { commandOptions } from "../../bench/harness/command-options.ts";

test("own figures have three rounds, those beside rivals five", () => {
  expect(commandOptions([])).toMatchObject({ rounds: 3, limitMs: 90_000, scale: 1, long: false });
  expect(commandOptions(["--rivals"])).toMatchObject({ rounds: 5, rivals: true });
  expect(commandOptions(["--rivals", "--rounds", "2"])).toMatchObject({ rounds: 2 });
});

test("a run is quick unless it is told to be longer", () => {
  const quick = (...args: string[]) => commandOptions(args).quick;
  expect([quick(), quick("--only", "drain"), quick("--scale", "0.5")]).toEqual([true, true, true]);
  expect([quick("--rivals"), quick("--long"), quick("--rounds", "3")]).toEqual([
    false,
    false,
    false,
  ]);
});

test.each([
  ["--rounds", "0"],
  ["--rounds", "1.5"],
  ["--rounds", "many"],
  ["--limit", "0"],
  ["--minutes", ""],
  ["--scale", "-1"],
  ["--scale", "NaN"],
])("%s %j is refused, and the refusal says what is accepted", (option, value) => {
  expect(() => commandOptions([`${option}=${value}`])).toThrow(
    new RegExp(`^${option} is ${value}: give a (whole )?number from .* to .*\\.$`),
  );
});

test("an option that is not known is refused", () => {
  expect(() => commandOptions(["--round", "3"])).toThrow("--round");
});

const contenders = ["leasehold", "bare SQL", "graphile-worker, batched"].map((name) => ({ name }));

test("names are chosen as the command line can write them, in their own order", () => {
  expect(slug("graphile-worker, batched")).toBe("graphile-worker-batched");
  expect(chosen("with", contenders, "graphile-worker-batched, leasehold")).toEqual([
    contenders[0],
    contenders[2],
  ]);
  expect(chosen("with", contenders, undefined)).toEqual(contenders);
});

test("a name that nobody has is refused with those that there are", () => {
  expect(() => chosen("with", contenders, "leasehold,pgboss")).toThrow(
    "--with asks for pgboss: there are leasehold, bare-sql, graphile-worker-batched.",
  );
});

const benchmark = { name: "any", title: "", about: "", cases: [] };

test("a long benchmark measures leasehold and the fastest, one of leasehold's its variants", () => {
  const among = ["leasehold", "bare SQL", "one", "two"];
  expect(contendersOf(benchmark, among, ["one"])).toEqual(among);
  expect(contendersOf({ ...benchmark, long: true }, among, ["two"])).toEqual(["leasehold", "two"]);
  expect(contendersOf({ ...benchmark, long: true }, among, undefined)).toEqual(among);
  const own = { ...benchmark, contenders: ["leasehold", "leasehold, one account"] };
  expect(contendersOf(own, among, [])).toEqual(own.contenders);
  expect(contendersOf(own, ["one"], [])).toEqual([]);
});
