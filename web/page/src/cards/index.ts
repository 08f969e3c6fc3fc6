// The cards of the page by the names that tools ask for.

import type { ToolRegistry } from "@roomful/react";
import { ApprovalForm } from "./ApprovalForm.tsx";
import { Chart } from "./Chart.tsx";
import { Choice } from "./Choice.tsx";
import { DatePicker } from "./DatePicker.tsx";
import { FilePicker } from "./FilePicker.tsx";
import { ImageResult } from "./ImageResult.tsx";
import { Poll } from "./Poll.tsx";
import { ProductCard } from "./ProductCard.tsx";
import { Table } from "./Table.tsx";

export { ApprovalGate } from "./ApprovalGate.tsx";
export { GenericCard } from "./GenericCard.tsx";
export { Trail } from "./Trail.tsx";

export const tools: ToolRegistry = {
  ApprovalForm, confirmAction: ApprovalForm, Chart, Choice, DatePicker, FilePicker, ImageResult, Poll, ProductCard, Table,
};
