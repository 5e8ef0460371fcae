import type { SharedSession } from "./session.ts";

/** What a client may set for itself as it connects, and what of it is none of the session's business. */
const notSettings = new Set(["user", "database", "options", "replication", "application_name"]);

/** Names with a dot, which PostgreSQL keeps but doesn't list. */
const ownNames = /\b([a-z_][\w$]*(?:\.[a-z_][\w$]*)+)\b['"]?\s*(?:=|,|to\b)/gi;

/**
 * What one connection has SET. The session is everybody's, so between turns it stands as it began,
 * and a connection that has settings gets them back as its turn begins. Most never set anything, and
 * cost nothing.
 *
 * A setting made inside of a function, or of a name of its own inside of one, is not noticed, and
 * stays for all until the next connection with settings has had a turn.
 */
export class Settings {
  #kept = new Map<string, string>();
  readonly #names = new Set<string>();
  #applied = false;
  #changed = false;

  constructor(startup: ReadonlyMap<string, string>) {
    for (const [name, value] of [...startup, ...optionsOf(startup.get("options") ?? "")]) {
      const ordinary = name === "client_encoding" && /^'?utf-?8'?$/i.test(value);
      if (!notSettings.has(name) && !name.startsWith("_pq_.") && !ordinary) {
        this.#kept.set(name, value);
      }
    }
  }

  /** At the begin of a turn. Rejects where a setting asked for at the start is none. */
  async apply(session: SharedSession): Promise<void> {
    this.#applied = this.#kept.size > 0;
    if (!this.#applied) return;
    // A role comes last: it may not be allowed to make the other settings.
    const last = ["session_authorization", "role"];
    const rank = ([name]: readonly [string, string]): number => last.indexOf(name);
    const entries = [...this.#kept].sort((a, b) => rank(a) - rank(b));
    const calls = entries.map(
      ([name, value]) => `set_config(${literal(name)}, ${literal(value)}, false)`,
    );
    await session.query(`select ${calls.join(", ")}`);
  }

  /** Told of each text that the connection runs. */
  reads(sql: string): void {
    if (!/^\s*set\s|;\s*set\s|set_config/i.test(sql)) return;
    if (/set_config/i.test(sql)) this.#changed = true;
    for (const [, name = ""] of sql.matchAll(ownNames)) this.#names.add(name.toLowerCase());
  }

  /** Told of each command that has ended. */
  ends(tag: string): void {
    if (/^(SET|RESET|DISCARD ALL)$/.test(tag)) this.#changed = true;
  }

  /** At the end of a turn, outside of any transaction: keeps what is set, and takes it away. */
  async putAway(session: SharedSession): Promise<void> {
    if (this.#changed) await this.#keep(session);
    if (this.#changed || this.#applied) {
      await session.query("reset session authorization; reset role; reset all");
    }
    this.#changed = false;
  }

  async #keep(session: SharedSession): Promise<void> {
    const own = [...this.#names, "session_authorization", "role"].map(
      (name) => `select ${literal(name)}, current_setting(${literal(name)}, true)`,
    );
    const rows = await session.query(
      `select name, setting from pg_catalog.pg_settings where source = 'session'
       union all select * from (${own.join(" union all ")}) own (name, setting)`,
    );
    const ordinary: Record<string, string> = { role: "none", session_authorization: "postgres" };
    this.#kept = new Map(
      (rows as [string, string | null][]).filter((row): row is [string, string] => {
        const [name, value] = row;
        return value !== null && value !== "" && value !== ordinary[name];
      }),
    );
  }
}

/** The settings in the startup option `options`: `-c name=value` or `--name=value`, `\ ` a blank. */
function optionsOf(options: string): [string, string][] {
  const words = (options.match(/(?:\\.|\S)+/g) ?? []).map((word) => word.replace(/\\(.)/g, "$1"));
  return words.flatMap((word, i): [string, string][] => {
    const text = word === "-c" ? words[i + 1] : /^(?:-c|--)(.+)$/.exec(word)?.[1];
    const [, name = "", value = ""] = /^([^=]+)=(.*)$/s.exec(text ?? "") ?? [];
    return name === "" ? [] : [[name.replaceAll("-", "_"), value]];
  });
}

/** Whatever `standard_conforming_strings` is. */
function literal(text: string): string {
  return `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
