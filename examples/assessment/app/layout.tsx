import type { Metadata, Viewport } from "next";
import type { ReactNode } from "react";
import "./styles.css";

export const metadata: Metadata = {
  title: "Area safety assessment",
  description: "How safe is an address? One point, one assessment.",
};

export const viewport: Viewport = { colorScheme: "light dark" };

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
