import type { Report } from "@/lib/report";

const labels = { flood: "Flood", crime: "Crime", traffic: "Traffic" } as const;

/** A finished assessment. */
export function ReportView({ report }: { report: Report }) {
  const { score, verdict, checks, tileServed } = report;
  return (
    <div className="report">
      <p className="score">
        <strong>{score}</strong> <span>of 100</span>
      </p>
      <p className="verdict">{verdict}</p>
      <dl>
        {checks.map(({ name, score, note }) => (
          <div key={name} className="check">
            <dt>{labels[name]}</dt>
            <dd>
              <meter min={0} max={100} low={40} high={70} optimum={100} value={score}>
                {score} of 100
              </meter>
              <span>{note}</span>
            </dd>
          </div>
        ))}
      </dl>
      <p className="quiet">
        The three checks shared one map tile, which its server has served{" "}
        {tileServed === 1 ? "once" : `${tileServed} times`}.
      </p>
    </div>
  );
}
