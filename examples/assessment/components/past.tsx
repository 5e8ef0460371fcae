import type { PastAssessment } from "@/lib/overview";

/** Assessments that are over. */
export function Past({ assessments }: { assessments: readonly PastAssessment[] }) {
  return (
    <section className="card" aria-labelledby="past">
      <h2 id="past">Past assessments</h2>
      {assessments.length === 0 ? (
        <p className="quiet">None yet.</p>
      ) : (
        <ul className="list">
          {assessments.map(({ id, address, status, money, report }) => (
            <li key={id}>
              <span>{address ?? "Address not kept"}</span>
              <span className={`badge ${status}`}>
                {report ? `${report.score} of 100` : status}
                {money === "given_back" && ", point back"}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
