import { startQuick } from "./start/action";

export default function Page() {
  return (
    <form action={startQuick}>
      <button type="submit">start</button>
    </form>
  );
}
