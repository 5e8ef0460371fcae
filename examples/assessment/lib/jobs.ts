import { defineJob } from "leasehold";
import { z } from "zod";

/** What the page sends. Client components import the type of `assess` alone, so nothing else. */
const payload = z.object({ address: z.string().trim().min(5).max(200) });

/**
 * One point for one assessment: held when it is asked for, spent when it is completed, given back
 * however else it ends. The owner pays.
 */
export const assess = defineJob("assess", {
  payload,
  cost: 1,
  // Renewed while the work goes on, so it may be short: it is how long a dead process is believed.
  lease: process.env.ASSESS_LEASE ?? "10s",
  timeout: process.env.ASSESS_TIMEOUT ?? "5m",
  retain: "30d",
  notices: {
    en: {
      running: "We are assessing the area.",
      completed_captured: "Your assessment is ready. It has cost one point.",
      failed_given_back: "The assessment failed. You were not charged: your point is back.",
      cancelled_given_back: "Cancelled. You were not charged: your point is back.",
    },
    ja: {
      running: "地域を評価しています。",
      completed_captured: "評価が完了しました。1ポイントを使用しました。",
      failed_given_back: "評価に失敗しました。課金されていません。ポイントは戻りました。",
      cancelled_given_back: "キャンセルしました。課金されていません。ポイントは戻りました。",
    },
  },
});
