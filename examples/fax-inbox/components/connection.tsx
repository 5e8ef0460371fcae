/** Tells that what the page shows may be old. */
export function Connection({ isOld }: { isOld: boolean }) {
  return (
    <div role="alert">
      {isOld && (
        <p className="notice bad">
          No answer from the server. This is the last we know; asking again …
        </p>
      )}
    </div>
  );
}
