/**
 * Where an attachment lies in the storage, fixed before anything is fetched: it depends on nothing but
 * the mail and the attachment's place in it. So a second run of the job, after a crash or beside a
 * function that was given up, writes to the same place.
 *
 * The name is the sender's and goes no further than its extension: it may hold "../", and Supabase
 * Storage refuses a key with letters beyond ASCII. The inbox shows it, out of the database.
 */
export function attachmentPath(mailId: string, position: number, filename: string): string {
  const extension = /\.[a-z0-9]{1,8}$/.exec(filename.toLowerCase())?.[0] ?? "";
  return `${mailId}/${position}${extension}`;
}
