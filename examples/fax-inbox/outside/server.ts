import { Faults } from "./faults.ts";
import { type MailProvider, startMail } from "./mail.ts";
import { type Storage, startStorage } from "./storage.ts";

export interface OutsideOptions {
  /** What announcements are signed with. */
  readonly webhookSecret: string;
  /** The key of the storage. */
  readonly storageKey: string;
  /** Where the storage keeps its objects. */
  readonly folder: string;
  /** How long the slow message, mail-0009, takes. Default 5,000. */
  readonly slowMs?: number;
  /** Default: any free ones. */
  readonly ports?: { readonly mail: number; readonly storage: number };
}

/** Everything that is somebody else's: the mail provider and the storage, and what goes wrong there. */
export interface Outside {
  readonly mail: MailProvider;
  readonly storage: Storage;
  readonly faults: Faults;
  /** What the application needs in its environment to find them. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export async function startOutside(options: OutsideOptions): Promise<Outside> {
  const { webhookSecret, storageKey, folder, slowMs, ports } = options;
  const faults = new Faults();
  const mail = await startMail({ webhookSecret, faults, slowMs, port: ports?.mail });
  const storage = await startStorage({ key: storageKey, folder, faults, port: ports?.storage });
  return {
    mail,
    storage,
    faults,
    env: {
      MAIL_PROVIDER_URL: mail.url,
      WEBHOOK_SECRET: webhookSecret,
      SUPABASE_URL: storage.url,
      SUPABASE_SERVICE_ROLE_KEY: storageKey,
    },
    async close() {
      faults.clear();
      await mail.close();
      await storage.close();
    },
  };
}
