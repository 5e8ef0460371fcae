import type { PrismaPg } from "@prisma/adapter-pg";
import * as runtime from "@prisma/client/runtime/client";

// biome-ignore lint/suspicious/noExplicitAny: as it is generated
type Any = any;

/**
 * What `prisma generate` of Prisma 7 writes for a schema without models, cut to what is used here.
 * It is kept, since the generator downloads an engine, and the package `prisma` weighs 220 MB.
 */
const config = {
  previewFeatures: [],
  clientVersion: "7.10.1",
  engineVersion: "d1b3f377ca835d73fd50954a5e22128b9ebdd6b8",
  activeProvider: "postgresql",
  inlineSchema: 'datasource db {\n  provider = "postgresql"\n}\n',
  runtimeDataModel: { models: {}, enums: {}, types: {} },
  parameterizationSchema: { strings: [], graph: "AAAA" },
  compilerWasm: {
    // @ts-expect-error it comes without types
    getRuntime: () => import("@prisma/client/runtime/query_compiler_fast_bg.postgresql.mjs"),
    getQueryCompilerWasmModule: async () => {
      const { wasm } = await import(
        // @ts-expect-error it comes without types
        "@prisma/client/runtime/query_compiler_fast_bg.postgresql.wasm-base64.mjs"
      );
      return new (globalThis as Any).WebAssembly.Module(Buffer.from(wasm, "base64"));
    },
    importName: "./query_compiler_fast_bg.js",
  },
};

/** With the signatures that are generated. */
export interface PrismaClient {
  $connect(): runtime.Types.Utils.JsPromise<void>;
  $disconnect(): runtime.Types.Utils.JsPromise<void>;
  $on(event: never, callback: (event: Any) => void): PrismaClient;
  $executeRawUnsafe<T = unknown>(
    query: string,
    ...values: Any[]
  ): runtime.Types.Public.PrismaPromise<number> & { unused?: T };
  $queryRawUnsafe<T = unknown>(
    query: string,
    ...values: Any[]
  ): runtime.Types.Public.PrismaPromise<T>;
  $transaction<R>(
    work: (tx: PrismaTransactionClient) => runtime.Types.Utils.JsPromise<R>,
  ): runtime.Types.Utils.JsPromise<R>;
  $extends: Any;
}

export type PrismaTransactionClient = Omit<PrismaClient, runtime.ITXClientDenyList>;

export const PrismaClient = runtime.getPrismaClient(config as Any) as unknown as new (options: {
  adapter: PrismaPg;
}) => PrismaClient;
