// Files that the gateway would refuse, known before they are sent.

const LARGEST_MB = 25;

/** Why this file cannot be uploaded, or null if it can. */
export function refusalOf({ size }: File): string | null {
  if (size === 0) return "This file is empty.";
  return size > LARGEST_MB * 1024 * 1024 ? `This file is larger than ${LARGEST_MB} MB.` : null;
}
