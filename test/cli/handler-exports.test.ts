import { describe, expect, it } from "vitest";
import { describeFailure } from "../../src/cli/failure.ts";
import { findRunnable } from "../../src/cli/handler-exports.ts";
import { createLeasehold, defineJob, type Handled, handle } from "../../src/index.ts";

const made = (kind: string): Handled => handle(defineJob(kind), () => 1);

function kindsOf(module: unknown): string[] {
  const found = findRunnable("h.ts", module);
  return "handlers" in found ? found.handlers.map(({ definition }) => definition.kind) : ["client"];
}

describe("what a module exports", () => {
  it("is found by name, as default, in arrays and in objects, each once", () => {
    const a = made("a");
    const module = { a, default: [a, made("b")], more: { c: made("c"), deep: [{ d: made("d") }] } };
    expect(kindsOf(module)).toEqual(["a", "b", "c", "d"]);
    expect(kindsOf(made("alone"))).toEqual(["alone"]);
  });

  it("is known by its shape, so that another copy of the package may have made it", () => {
    expect(
      kindsOf({ a: structuredClone({ ...made("a"), run: undefined }), b: { ...made("b") } }),
    ).toEqual(["b"]);
  });

  it("may go in circles, hold what throws when it is looked at, and be nothing at all", () => {
    const circle: Record<string, unknown> = { a: made("a") };
    circle.self = circle;
    class Pool {
      get connection(): never {
        throw new Error("looked at");
      }
    }
    const env = new Proxy(
      {},
      {
        get: () => {
          throw new Error("looked at");
        },
      },
    );
    expect(kindsOf({ circle, pool: new Pool(), env, nothing: null, text: "x" })).toEqual(["a"]);
    expect(() => findRunnable("h.ts", undefined)).toThrow("h.ts exports no handler");
  });

  it("may be a client, which is used as it is", () => {
    const client = createLeasehold({ handlers: [made("a")] });
    expect(findRunnable("h.ts", { default: client, a: made("a") })).toEqual({ client });
    const two = { client, other: createLeasehold() };
    expect(() => findRunnable("h.ts", two)).toThrow("more than one client");
  });

  it("is refused with an exit code of 1", () => {
    try {
      findRunnable("h.ts", { a: defineJob("a") });
      expect.unreachable();
    } catch (error) {
      expect(describeFailure(error)).toMatchObject({ exitCode: 1 });
    }
  });
});
