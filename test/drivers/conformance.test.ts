import postgresJs from "postgres";
import { pg } from "../../src/pg/index.ts";
import { pglite } from "../../src/pglite/index.ts";
import { postgres } from "../../src/postgres/index.ts";
import { migrate } from "../../src/schema/index.ts";
import { supabase } from "../../src/supabase/index.ts";
import { openTestDatabase } from "../support/databases.ts";
import { startSupabaseProject } from "../support/supabase-project.ts";
import { conformance } from "./conformance.ts";
import { transactionPooler } from "./transaction-pooler.ts";

conformance("pg", async () => {
  const { pool, close } = await openTestDatabase("postgres");
  return { database: (schema) => pg(pool, { schema }), close };
});

conformance("pg behind a transaction pooler", async () => {
  const { pool, close } = await openTestDatabase("postgres");
  return { database: (schema) => pg(transactionPooler(pool), { schema }), close };
});

conformance("postgres", async () => {
  const { url, close } = await openTestDatabase("postgres");
  const sql = postgresJs(url, { onnotice: () => undefined });
  return {
    database: (schema) => postgres(sql, { schema }),
    close: () => sql.end().then(close),
  };
});

conformance("pglite", async () => {
  const { pglite: db, close } = await openTestDatabase("pglite");
  return { database: (schema) => pglite(db, { schema }), close };
});

conformance("supabase", async () => {
  const project = await startSupabaseProject();
  const client = project.client();
  return {
    database(schema) {
      if (!project.postgrest.schemas.includes(schema)) project.postgrest.schemas.push(schema);
      return supabase(client, { schema });
    },
    // Over the direct connection: the Data API runs no scripts.
    prepare: (schema) => migrate(pg(project.pool, { schema })),
    close: () => project.close(),
  };
});
