import type { PGlite } from "@electric-sql/pglite";
import type { OwnPGlite } from "./like.ts";
import { Channels, channelName } from "./wire/channels.ts";

/**
 * A PGlite as leasehold holds one that it opened: with its session open to a server as well, and with
 * a `listen` of our own, since PGlite's own one hears nothing of what such a server's clients notify,
 * and would end the listening of a client together with its own.
 */
export function ownPGlite(db: PGlite, close: () => Promise<void> = () => db.close()): OwnPGlite {
  const channels = new Channels();
  db.onNotification((channel, payload) => channels.deliver(channel, payload));
  return {
    query: (text, values, options) => db.query(text, values, options),
    exec: (sql) => db.exec(sql),
    transaction: (work) => db.transaction(work),
    async listen(identifier, listener, tx) {
      const channel = channelName(identifier);
      const heard = (_: string, payload: string): void => listener(payload);
      await (tx ?? db).exec(`listen ${identifier}`);
      channels.add(channel, heard);
      return async () => {
        if (channels.remove(channel, heard)) await db.exec(`unlisten ${identifier}`);
      };
    },
    close,
    wire: {
      channels,
      // PGlite's public runExclusive lets others in between the statements of its transactions.
      exclusive: (work) => db._runExclusiveTransaction(work),
      exec: (messages, onRawData) => db.execProtocolRawStream(messages, { onRawData }),
    },
  };
}
