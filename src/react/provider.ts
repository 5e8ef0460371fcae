"use client";

import { createContext, createElement, type ReactElement, type ReactNode, useContext } from "react";
import { type Connection, defaultConnection } from "./connection.ts";

const ConnectionContext = createContext(defaultConnection);

/** What LeaseholdProvider takes. */
export interface LeaseholdProviderProps {
  /** Made by `createConnection`, once. */
  connection: Connection;
  children?: ReactNode;
}

/** Gives the hooks below it their connection. Not needed for routes under /api/leasehold. */
export function LeaseholdProvider({ connection, children }: LeaseholdProviderProps): ReactElement {
  return createElement(ConnectionContext.Provider, { value: connection }, children);
}

/** The connection of a hook: its own, else that of the provider above, else the default one. */
export function useConnection(own: Connection | undefined): Connection {
  const provided = useContext(ConnectionContext);
  return own ?? provided;
}
