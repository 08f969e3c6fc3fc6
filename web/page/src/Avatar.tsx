// A member's initial on a colour of their own; agents are square.

interface Props { id: string; name: string; isAgent?: boolean }

const HUES = 12;

export function Avatar({ id, name, isAgent = false }: Props) {
  const hue = [...id].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)!) % 997, 7) % HUES;
  return (
    <span className={`avatar hue-${hue}${isAgent ? " agent" : ""}`} aria-hidden="true">
      {Array.from(name)[0]?.toUpperCase() ?? "?"}
    </span>
  );
}
