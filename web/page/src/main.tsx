import { createRoot } from "react-dom/client";
import { Page } from "./Page.tsx";

createRoot(document.getElementById("page")!).render(<Page />);
