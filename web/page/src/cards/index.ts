// The cards of the page by the names that tools ask for.

import type { ToolRegistry } from "@roomful/react";
import { ApprovalForm } from "./ApprovalForm.tsx";
import { ApprovalGate as Gate } from "./ApprovalGate.tsx";
import { Chart } from "./Chart.tsx";
import { Choice } from "./Choice.tsx";
import { DatePicker } from "./DatePicker.tsx";
import { FilePicker } from "./FilePicker.tsx";
import { GenericCard as Generic } from "./GenericCard.tsx";
import { guarded } from "./Guard.tsx";
import { ImageResult } from "./ImageResult.tsx";
import { Poll } from "./Poll.tsx";
import { ProductCard } from "./ProductCard.tsx";
import { Table } from "./Table.tsx";

export const GenericCard = guarded(Generic);
export const ApprovalGate = guarded(Gate);

const cards = {
  ApprovalForm, confirmAction: ApprovalForm, Chart, Choice, DatePicker, FilePicker, ImageResult, Poll, ProductCard, Table,
};

export const tools: ToolRegistry = Object.fromEntries(Object.entries(cards).map(([name, card]) => [name, guarded(card)]));
