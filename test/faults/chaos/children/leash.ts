/** The run has ended, however it ended: no child is left behind. Answers how to let go of the parent. */
export function leash(): () => void {
  const end = () => process.exit();
  process.once("disconnect", end);
  return () => {
    process.off("disconnect", end);
    process.disconnect();
  };
}
