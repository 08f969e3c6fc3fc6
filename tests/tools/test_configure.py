"""An agent as it comes out of its configuration."""

from typing import Any

from roomful.domain.agents import AgentSpec, Limits, ModelRef
from roomful.domain.tools import Approval, Approvers, Static, SubAgent
from roomful.domain.usage import Price
from roomful.tools import builtin_tools, configure
from tests.tools.written import FORM, HTTP, URL, agent, of_type, tool


def test_what_a_person_answers() -> None:
    approvers = {"roles": ["owner"], "entities": ["ann"]}
    form = tool({**FORM, "approvers": approvers, "answerSeconds": 60, "resultSchema": {"type": "object"}})
    assert form.approvers == Approvers(roles=("owner",), entities=("ann",))
    assert (form.approval, form.answer_seconds, form.result_schema) == (None, 60, {"type": "object"})
    assert tool({**HTTP, "approval": True}).approval == Approval()
    assert tool({**HTTP, "approval": False}).approval is None
    both = Approval(approvers=form.approvers, when="new-arguments")
    assert tool({**HTTP, "approval": {"approvers": approvers, "when": "new-arguments"}}).approval == both
    beside = tool({**HTTP, "approval": True, "approvers": approvers, "answerSeconds": 5, "idempotent": True})
    assert beside.approval == Approval(approvers=form.approvers)
    assert (beside.approvers, beside.answer_seconds, beside.idempotent) == (Approvers(), 5, True)


def test_timeouts_are_written_in_milliseconds() -> None:
    execution: dict[str, dict[str, Any]] = {
        "request": {"url": URL},
        "ai-agent": {"agentId": "b"},
        "image-generator": {},
        "compute": {"expression": "1"},
        "python": {"function": "f"},
    }
    for kind, rest in execution.items():
        raw = {"name": "it", "executionType": kind, "execution": {**rest, "timeout": 1500}}
        assert tool(raw).timeout == 1.5


def test_a_picture_has_more_time_than_what_has_no_timeout() -> None:
    assert tool({"name": "it", "executionType": "image-generator"}).timeout == 120


def test_an_inline_agent_takes_from_its_parent_what_it_does_not_say() -> None:
    inline = {"instructions": "Research.", "tools": [{**HTTP, "name": "search"}]}
    raw = {"name": "ask", "executionType": "gateway", "execution": {"agentConfig": inline}}
    assert tool(raw).executor == SubAgent(
        config={"name": "ask", "model": "scripted:shop", "dialect": "active", **inline}
    )
    own = {"model": "openai:x", "tools": [{**HTTP, "displayTool": True}], "name": "Own", "id": "own"}
    raw = {"name": "ask", "executionType": "ai-agent", "execution": {"agentConfig": own}}
    assert tool(raw).executor == SubAgent(config=own)


def test_an_image_and_a_sub_agent_without_a_schema_take_a_prompt() -> None:
    for kind, execution in (("image-generator", None), ("ai-agent", {"agentId": "b"})):
        spec = tool({"name": "it", "executionType": kind, "execution": execution})
        assert spec.input_schema["required"] == ["prompt"]


def test_an_agent_as_configured() -> None:
    spec = agent(
        HTTP,
        name=" Shop Agent ",
        instructions="Sell.",
        model={
            "name": "openai:gpt:5",
            "baseUrl": "http://127.0.0.1:9/v1",
            "apiKey": "${env.KEY}",
            "price": {"input": 0.25, "output": 0},
        },
        speaks="both",
        onBusy="steer",
        showReasoning=True,
        limits={"maxSteps": 5, "runSeconds": 1.5},
    )
    own, *built_in = spec.tools
    assert own.name == "it"
    assert spec == AgentSpec(
        id="shop",
        name="Shop Agent",
        model=ModelRef(
            name="openai:gpt:5",
            base_url="http://127.0.0.1:9/v1",
            api_key="${env.KEY}",
            price=Price(input=0.25, output=0),
        ),
        instructions="Sell.",
        dialect="composite",
        tools=(own, *builtin_tools("composite")),
        speaks="both",
        on_busy="steer",
        show_reasoning=True,
        limits=Limits(max_steps=5, run_seconds=1.5),
    )
    assert built_in


def test_what_may_be_left_out_of_an_agent() -> None:
    assert configure({"id": "a", "name": "A", "model": "scripted:a"}) == AgentSpec(
        id="a",
        name="A",
        model=ModelRef(name="scripted:a"),
        instructions="",
        dialect="composite",
        tools=builtin_tools("composite"),
    )


def test_the_output_of_a_static_tool_is_a_template_unless_it_says_no() -> None:
    schema = {"properties": {"a": {}}}
    for written, template in (({}, True), ({"template": True}, True), ({"template": False}, False)):
        execution = {"mode": "static", "output": {"x": "{{a}}"}, **written}
        assert tool(of_type("basic", execution, inputSchema=schema)).executor == Static(
            {"x": "{{a}}"}, template
        )
    assert tool(of_type("internal", {"output": "{{b}}", "template": False})).executor == Static("{{b}}")
