import { signIn } from "@/app/actions";
import { users } from "@/lib/users";

/** A stand-in: who comes chooses who to be. */
export function SignIn() {
  return (
    <section className="card" aria-labelledby="sign-in">
      <h2 id="sign-in">Who are you?</h2>
      <form action={signIn} className="choices">
        {users.map(({ id, name, points }) => (
          <button key={id} type="submit" name="user" value={id} className="choice">
            <strong>{name}</strong>
            <span>{points === 1 ? "1 point" : `${points} points`} to begin with</span>
          </button>
        ))}
      </form>
    </section>
  );
}
