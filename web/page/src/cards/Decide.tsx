// Approve or reject, with a reason for those who want to give one.

import { useState, type ReactNode } from "react";

interface DecideProps {
  canAnswer: boolean;
  canApprove?: boolean;
  onApprove(): void;
  onReject(reason: string): void;
  children?: ReactNode;
}

export function Decide({ canAnswer, canApprove = true, onApprove, onReject, children }: DecideProps) {
  const [says, setSays] = useState(false);
  const [reason, setReason] = useState("");
  return (
    <>
      {says && (
        <label className="field">
          <span className="field-name">Reason</span>
          <input className="input" value={reason} autoFocus dir="auto" maxLength={2000} placeholder="Told to the agent when you reject"
            onChange={(event) => setReason(event.target.value)} />
        </label>
      )}
      <div className="acts">
        <button type="button" className="act act-main" disabled={!canAnswer || !canApprove} onClick={onApprove}>Approve</button>
        <button type="button" className="act act-wrong" disabled={!canAnswer} onClick={() => onReject(reason.trim())}>Reject</button>
        <button type="button" className="act act-quiet" disabled={!canAnswer} aria-expanded={says} onClick={() => setSays(!says)}>
          {says ? "No reason" : "Add a reason"}
        </button>
        {children}
      </div>
    </>
  );
}
