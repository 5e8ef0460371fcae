import { createClient, type SupabaseClient } from "@supabase/supabase-js";
import { expectTypeOf, test } from "vitest";
import { createLeasehold, type Database, type TransactionHandle } from "../../src/index.ts";
import { type SupabaseDatabase, type SupabaseLike, supabase } from "../../src/supabase/index.ts";

/** As `supabase gen types` writes it, for a project whose types know nothing of leasehold's schema. */
interface Generated {
  __InternalSupabase: { PostgrestVersion: "13.0.4" };
  public: {
    Tables: {
      orders: {
        Row: { id: string; item: string };
        Insert: { id?: string; item: string };
        Update: { id?: string; item?: string };
        Relationships: [];
      };
    };
    Views: Record<never, never>;
    Functions: { place_order: { Args: { item: string }; Returns: string } };
    Enums: Record<never, never>;
    CompositeTypes: Record<never, never>;
  };
}

// Never called: what counts is that it compiles, and where it must not.
const plain = () => createClient("url", "key");
const generated = () => createClient<Generated>("url", "key");
const elsewhere = () =>
  createClient<Generated, "public">("url", "key", { db: { schema: "public" } });
const compiles = (..._calls: (() => unknown)[]) => undefined;

test("supabase() takes the client of any project", () => {
  compiles(
    () => supabase(plain()),
    () => supabase(generated()),
    () => supabase(elsewhere(), { schema: "jobs", timeout: "10s" }),
    () => supabase(generated().schema("public")),
    // biome-ignore lint/suspicious/noExplicitAny: as applications write it
    () => supabase(plain() as SupabaseClient<any, any, any>),
  );
  expectTypeOf<SupabaseClient<Generated>>().toExtend<SupabaseLike>();
});

test("supabase() takes nothing else", () => {
  compiles(
    // @ts-expect-error a URL
    () => supabase("https://x.supabase.co"),
    // @ts-expect-error a query
    () => supabase(generated().from("orders")),
    // @ts-expect-error a call
    () => supabase(generated().rpc("place_order", { item: "paper" })),
    // @ts-expect-error a client that nobody awaited
    () => supabase(Promise.resolve(plain())),
    // @ts-expect-error an option that does not exist
    () => supabase(plain(), { schma: "jobs" }),
  );
});

test("its database is one, without transactions, listening and scripts", () => {
  expectTypeOf<SupabaseDatabase>().toExtend<Database>();
  expectTypeOf<SupabaseDatabase["transaction"]>().toEqualTypeOf<undefined>();
  expectTypeOf<SupabaseDatabase["listen"]>().toEqualTypeOf<undefined>();
  expectTypeOf<SupabaseDatabase["script"]>().toEqualTypeOf<undefined>();
  expectTypeOf<SupabaseDatabase["close"]>().toEqualTypeOf<undefined>();
  expectTypeOf<SupabaseClient>().not.toExtend<TransactionHandle>();
  compiles(() => createLeasehold({ database: supabase(generated()) }));
});
