import { createRoot } from "react-dom/client";
import { Mishap } from "./Mishap.tsx";
import { Page } from "./Page.tsx";

createRoot(document.getElementById("page")!).render(<Mishap><Page /></Mishap>);
