"""Who attacks, what has to come of it, and the tests that show it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Threat:
    id: str
    attack: str
    expected: str
    tests: tuple[str, ...]


THREATS = (
    # What tools reach
    Threat(
        "A1",
        "A tool's address leads to loopback, a private network or a cloud's metadata.",
        "No connection is made unless the operator listed the host and port.",
        (
            "tests/egress/test_refusals.py::test_no_hostile_url_reaches_a_listener",
            "tests/egress/test_refusals.py::test_the_corpus_is_alive_without_the_judge_many_forms_get_through",
            "tests/egress/test_refusals.py::test_what_the_operator_allows_is_reached",
            "tests/http/test_active.py::test_an_http_tool_reaches_and_reads_only_what_the_operator_listed",
            "tests/security/test_evil.py::test_nothing_is_reached_whatever_the_model_says",
        ),
    ),
    Threat(
        "A2",
        "An IPv4 address is written as a number, in octal, in hexadecimal or in fewer parts.",
        "What the machine makes of the name is judged, not how it is written.",
        (
            "tests/egress/test_refusals.py::test_no_hostile_url_reaches_a_listener",
            "tests/egress/test_refusals.py::test_the_corpus_is_alive_without_the_judge_many_forms_get_through",
            "tests/egress/test_addresses.py::test_only_canonical_spellings_are_packed",
        ),
    ),
    Threat(
        "A3",
        "An inner address hides inside IPv6: mapped, translated, tunnelled or with a zone.",
        "Embedded addresses are unwrapped, and only global unicast passes, by a table of our own.",
        (
            "tests/egress/test_addresses.py::test_an_inner_address_is_not_public_in_any_wrapping",
            "tests/egress/test_addresses.py::test_a_denied_range_is_denied_to_both_ends",
            "tests/egress/test_addresses.py::test_a_public_address_is_public",
            "tests/egress/test_refusals.py::test_no_hostile_url_reaches_a_listener",
        ),
    ),
    Threat(
        "A4",
        "A name has a public address when it is judged and a private one when it is connected to.",
        "A name is resolved once, and the judged address is the one that is connected to.",
        (
            "tests/egress/test_refusals.py::test_a_name_that_changes_its_address_is_asked_once_and_pinned",
            "tests/egress/test_refusals.py::test_public_first_and_private_then_never_reaches_the_private_one",
            "tests/egress/test_connecting.py::test_a_socket_goes_only_to_a_judged_address_although_literals_ask_no_resolver",
            "tests/egress/test_tls.py::test_the_name_is_in_the_handshake_although_the_address_was_pinned",
        ),
    ),
    Threat(
        "A5",
        "A redirect leads inwards, to another scheme, or to another host with our secrets.",
        "A redirect is an answer; where it is followed, each hop is judged and secrets stay with their host.",
        (
            "tests/egress/test_redirects.py::test_a_redirect_is_an_answer_by_default",
            "tests/egress/test_redirects.py::test_a_redirect_inwards_is_refused",
            "tests/egress/test_redirects.py::test_to_another_origin_only_harmless_headers_go",
            "tests/egress/test_redirects.py::test_a_redirect_loop_ends",
            "tests/egress/test_tls.py::test_a_redirect_from_https_to_http_is_refused",
        ),
    ),
    Threat(
        "A6",
        "Two parsers read one address differently.",
        "There is one parser, and what others could read otherwise is refused.",
        (
            "tests/egress/test_refusals.py::test_no_hostile_url_reaches_a_listener",
            "tests/tools/test_refused_contents.py::test_a_wrong_tool_is_refused_at_its_field",
            "tests/tools/test_urls.py::test_no_value_reaches_the_host",
        ),
    ),
    Threat(
        "A7",
        "One path out of the house has no guard.",
        "One client reaches out for tools, and the sources import no other.",
        (
            "tests/egress/test_only_way_out.py::test_no_room_of_tools_imports_a_client_of_its_own",
            "tests/security/test_sources.py::test_only_the_guard_and_the_operators_models_reach_out",
            "tests/executors/test_mcp_listing.py::test_the_sdk_has_no_way_out_but_ours",
        ),
    ),
    Threat(
        "A8",
        "A tool speaks to a file, a socket, another protocol or a port of another service.",
        "Only HTTP to the usual ports, and to others that the operator listed.",
        (
            "tests/egress/test_refusals.py::test_no_hostile_url_reaches_a_listener",
            "tests/egress/test_refusals.py::test_an_allowed_pair_opens_only_itself",
        ),
    ),
    # Templates, secrets, headers
    Threat(
        "A9",
        "A value holds a placeholder or a reference to the environment.",
        "A template is filled in once, and values are never read as templates.",
        (
            "tests/tools/test_templates.py::test_a_value_is_never_expanded",
            "tests/executors/test_http.py::test_values_are_never_expanded_again",
            "tests/tools/test_templates.py::test_any_value_goes_through_a_body_unchanged",
            "tests/security/test_evil.py::test_nothing_is_reached_whatever_the_model_says",
            "tests/security/test_evil.py::test_what_is_allowed_is_done",
        ),
    ),
    Threat(
        "A10",
        "A value becomes the host that a secret is sent to.",
        "Scheme, host and port are plain text, else the configuration is refused.",
        (
            "tests/tools/test_refused_contents.py::test_a_wrong_tool_is_refused_at_its_field",
            "tests/tools/test_urls.py::test_no_value_reaches_the_host",
            "tests/models/test_shelf.py::test_the_operators_key_never_goes_to_an_address_of_somebody_else",
        ),
    ),
    Threat(
        "A11",
        "A value climbs out of its place in the path or the query.",
        "Values are encoded for their place, and those that climb are refused.",
        (
            "tests/tools/test_urls.py::test_a_value_that_would_climb_out_of_its_path_is_refused",
            "tests/tools/test_urls.py::test_any_text_stays_inside_its_place_in_an_address_or_is_refused",
            "tests/tools/test_urls.py::test_pieces_that_climb_together_are_refused",
        ),
    ),
    Threat(
        "A12",
        "A value ends its header and begins another.",
        "The call is refused before anything is sent.",
        (
            "tests/tools/test_templates.py::test_a_value_that_would_end_a_header_is_refused",
            "tests/egress/test_refusals.py::test_a_header_that_breaks_out_is_refused_before_anything_is_sent",
            "tests/executors/test_http.py::test_what_would_break_out_is_refused_before_anything_is_sent",
        ),
    ),
    Threat(
        "A13",
        "A service says a secret again, in a result, an error or another spelling.",
        "It is masked before anybody or any file has it.",
        (
            "tests/security/test_secrets.py::test_no_secret_is_in_any_sink",
            "tests/security/test_evil.py::test_no_secret_is_in_any_sink",
            "tests/executors/test_masking.py::test_every_spelling_is_hidden",
            "tests/executors/test_mcp.py::test_a_secret_goes_out_in_a_header_and_does_not_come_back",
            "tests/models/test_openai_faults.py::test_no_secret_and_no_page_gets_into_an_error",
        ),
    ),
    Threat(
        "A14",
        "The environment, the settings or a debug page are asked for.",
        "Nothing serves them, and no child process gets them.",
        (
            "tests/security/test_paths.py::test_nothing_about_the_inside_is_served",
            "tests/executors/test_compute.py::test_a_child_has_no_environment_no_files_and_little_memory",
            "tests/executors/test_mcp.py::test_each_agent_has_a_program_of_its_own_without_our_environment_and_it_ends_with_us",
            "tests/tools/test_templates.py::test_a_name_that_is_not_allowed_is_not_read",
        ),
    ),
    Threat(
        "A15",
        "Data says that it is an object of some class.",
        "JSON stays JSON: nothing is revived, and no text is run.",
        (
            "tests/security/test_sources.py::test_nothing_is_revived_from_data_and_no_text_is_run",
            "tests/tools/test_templates.py::test_a_path_walks_keys_and_never_attributes",
            "tests/security/test_evil.py::test_nothing_is_reached_whatever_the_model_says",
        ),
    ),
    # Spaces and whose they are
    Threat(
        "A16",
        "A call names a space that the agent is not in.",
        "It fails before it has an effect, in the words for a space that is not there.",
        (
            "tests/security/test_evil.py::test_unknown_and_forbidden_are_told_to_the_model_alike",
            "tests/security/test_evil.py::test_nothing_ran_without_consent_or_on_its_way_to_a_space_of_others",
            "tests/http/test_routing_tables.py::test_one_space_that_the_agent_is_not_in_fails_the_whole_call",
            "tests/http/test_display.py::test_a_space_that_the_agent_is_not_in_fails_the_call_before_execution",
            "tests/security/test_evil.py::test_nothing_is_reached_whatever_the_model_says",
        ),
    ),
    Threat(
        "A17",
        "An agent carries what it read in one space into another, whose readers may not read the first.",
        "In a guarded space it is held until somebody who may agrees.",
        (
            "tests/http/test_flow.py::test_however_it_was_read_and_is_shown_nothing_of_it_gets_in",
            "tests/http/test_flow.py::test_with_consent_it_is_shown_as_if_it_had_never_been_held",
            "tests/http/test_flow.py::test_where_everybody_may_read_it_there_nobody_is_asked",
            "tests/http/test_flow_asking.py::test_only_the_approvers_agree_and_only_to_it_as_it_is",
            "tests/http/test_flow_inside.py::test_a_sub_agent_knows_what_its_caller_knew",
            "tests/http/test_flow_lasting.py::test_no_face_of_the_room_knows_what_is_held",
        ),
    ),
    Threat(
        "A18",
        "Routing keys come late, twice, escaped, as a list, as null, or ten thousand at once.",
        "A route is decided once, from complete values, as a full parse reads them; sixteen spaces at most.",
        (
            "tests/routing/test_route.py::test_any_call_cut_anywhere_is_routed_as_its_whole_text_says",
            "tests/routing/test_route.py::test_nothing_is_decided_that_what_follows_could_change",
            "tests/routing/test_route.py::test_a_call_goes_to_sixteen_spaces_and_not_to_seventeen",
            "tests/routing/test_scanner.py::test_any_object_cut_anywhere_reads_like_a_full_parse",
            "tests/http/test_routes.py::test_whatever_the_fragments_the_call_reaches_its_spaces_and_no_other",
            "tests/security/test_evil.py::test_nothing_is_reached_whatever_the_model_says",
        ),
    ),
    Threat(
        "A19",
        "Somebody guesses the ids of spaces.",
        "Unknown and forbidden have one status, the same bytes and the same questions to the database.",
        (
            "tests/security/test_probing.py::test_a_thousand_probes_cannot_tell_forbidden_from_unknown",
            "tests/security/test_matrix.py::test_everybody_gets_what_is_theirs_and_a_refusal_changes_nothing",
            "tests/web/test_table.py::test_what_is_forbidden_looks_like_what_is_not_there",
        ),
    ),
    Threat(
        "A20",
        "A name looks like somebody else's, or a mention stands in code, a quote or a tool's arguments.",
        "Only members are mentioned, by their id or a name that is theirs alone, and only in what is said.",
        (
            "tests/spaces/test_mentions.py::test_mentions_are_exact_ids_and_unique_names_outside_code_and_quotes",
            "tests/spaces/test_mentions.py::test_an_id_counts_more_than_a_name_that_looks_like_it",
            "tests/http/test_mentions.py::test_code_and_quotes_mention_nobody",
            "tests/http/test_mentions.py::test_a_tools_arguments_and_result_mention_nobody",
            "tests/http/test_names.py::test_an_agent_may_not_take_the_id_of_a_space_nor_a_space_that_of_an_agent",
            "tests/security/test_evil.py::test_nothing_is_reached_whatever_the_model_says",
        ),
    ),
    Threat(
        "A21",
        "Words of one space come as a form into another, whose people trust it.",
        "A card that asks for consent says whose it is, where and by whom it began, and its exact arguments.",
        (
            "tests/http/test_approvals.py::test_a_call_runs_only_after_it_was_approved",
            "tests/http/test_approvals.py::test_who_may_answer_is_a_rule_of_its_own",
            "tests/browser/test_hostile_places.py::test_consent_is_asked_for_the_exact_arguments",
            "tests/security/test_cards.py::test_a_card_in_another_space_says_where_it_comes_from_whatever_the_model_says",
        ),
    ),
    # Runs, results, ids
    Threat(
        "A22",
        "Somebody answers a card of a space that they are not in.",
        "The run does not exist for them; to answer, one writes where the card is shown.",
        (
            "tests/security/test_matrix.py::test_everybody_gets_what_is_theirs_and_a_refusal_changes_nothing",
            "tests/http/test_routing_tables.py::test_a_form_in_another_space_asks_the_members_of_that_space",
            "tests/http/test_access.py::test_a_run_is_seen_only_through_its_spaces",
            "tests/http/test_ag_ui_cards.py::test_a_card_for_one_member_is_asked_of_nobody_else",
        ),
    ),
    Threat(
        "A23",
        "An answer comes twice, late, changed, or after the run was stopped.",
        "One answer counts; the others are told which.",
        (
            "tests/http/test_approvals.py::test_of_fifty_who_answer_at_once_one_wins",
            "tests/http/test_gateway_races.py::test_of_answers_at_both_gateways_one_wins",
            "tests/http/test_waiting.py::test_a_result_must_fit_and_a_canceled_form_takes_none",
            "tests/http/test_approvals.py::test_edited_arguments_replace_the_models_and_must_fit",
        ),
    ),
    Threat(
        "A24",
        "Ids are forged, repeated or made to collide.",
        "Ids are ours, random and unguessable; those of others are only data.",
        (
            "tests/security/test_probing.py::test_ids_and_secrets_cannot_be_guessed",
            "tests/http/test_runs.py::test_two_calls_with_the_same_provider_id_are_two_calls",
            "tests/http/test_ai_sdk_resuming.py::test_no_two_messages_have_one_id",
            "tests/web/test_talk.py::test_the_same_client_id_is_the_same_message_and_in_another_space_another",
            "tests/security/test_evil.py::test_nothing_is_reached_whatever_the_model_says",
        ),
    ),
    Threat(
        "A25",
        "A route forgets to ask who is asking.",
        "Every route has a rule, and everybody was tried at every route.",
        (
            "tests/security/test_matrix.py::test_every_route_and_every_tool_is_in_the_matrix",
            "tests/security/test_matrix.py::test_everybody_gets_what_is_theirs_and_a_refusal_changes_nothing",
            "tests/web/test_table.py::test_only_these_routes_are_open",
            "tests/web/test_table.py::test_without_a_token_there_is_nothing_behind_a_rule",
            "tests/security/test_evil.py::test_what_was_said_elsewhere_is_found_by_nobody",
        ),
    ),
    # Code
    Threat(
        "A26",
        "An expression wants out of its language, or never ends.",
        "It is a language of our own, with bounds, in a process with nothing in it.",
        (
            "tests/executors/test_compute.py::test_nothing_gets_out_of_the_language",
            "tests/executors/test_compute.py::test_nothing_grows_beyond_its_bounds",
            "tests/executors/test_compute.py::test_the_language_does_what_it_says",
            "tests/executors/test_expressions.py::test_no_expression_breaks_the_evaluator",
            "tests/security/test_evil.py::test_nothing_is_reached_whatever_the_model_says",
        ),
    ),
    Threat(
        "A27",
        "A configuration names a program to start.",
        "Only the operator's own files may.",
        (
            "tests/security/test_saving.py::test_no_program_is_started_for_whom_the_api_serves",
            "tests/tools/test_servers.py::test_a_program_is_started_only_for_the_operators_own_files",
        ),
    ),
    Threat(
        "A28",
        "Saving or importing something has effects.",
        "It is written down, and nothing is connected to.",
        (
            "tests/security/test_saving.py::test_nothing_is_connected_to_when_an_agent_is_saved",
            "tests/http/test_import.py::test_what_is_wrong_is_said_and_nothing_is_written",
            "tests/http/test_mcp_approvals.py::test_saving_connects_to_nothing_and_another_address_begins_anew",
            "tests/app/test_stories.py::test_what_a_tool_reached_outside_is_not_reached_again",
        ),
    ),
    Threat(
        "A29",
        "SQL stands in a filter's key or value.",
        "Keys come from a list, and values are only values.",
        (
            "tests/security/test_paths.py::test_keys_come_from_a_list_and_values_are_only_values",
            "tests/web/test_talk.py::test_a_wrong_address_is_refused_by_name",
            "tests/store/test_messages.py::test_ids_that_look_like_json_do_no_harm",
        ),
    ),
    Threat(
        "A30",
        "A body is of another type than its route expects, or names a file.",
        "A route takes one type, and no path comes from outside.",
        (
            "tests/security/test_paths.py::test_a_body_is_json_and_nothing_else",
            "tests/web/test_bodies.py::test_only_plain_json_is_taken",
            "tests/web/test_bodies.py::test_what_is_wrong_is_named",
            "tests/http/test_blobs.py::test_a_type_that_is_none_is_refused",
        ),
    ),
    Threat(
        "A31",
        "A path climbs out of what is served.",
        "Files are found by id or from a list, however the path is written.",
        (
            "tests/security/test_paths.py::test_no_way_of_writing_a_path_leads_out_of_it",
            "tests/web/test_table.py::test_no_other_file_is_served",
            "tests/web/test_table.py::test_what_cannot_be_an_id_names_nothing",
        ),
    ),
    # The browser
    Threat(
        "A32",
        "A script hides in a text, a result, a card, a picture, a file's name or somebody's name.",
        "None runs, and what people mean is drawn.",
        (
            "tests/browser/test_hostile.py::test_texts_run_nothing_and_send_nothing",
            "tests/browser/test_hostile.py::test_cards_run_nothing_and_send_nothing",
            "tests/browser/test_hostile_places.py::test_names_are_only_names",
            "tests/browser/test_hostile_places.py::test_files_are_shown_as_pictures_or_not_at_all",
            "tests/browser/test_hostile_places.py::test_what_people_mean_is_drawn",
            "tests/browser/test_hostile_places.py::test_the_guard_notices",
            "tests/browser/test_policy.py::test_the_policy_allows_only_what_is_ours",
            "tests/http/test_blobs.py::test_nothing_in_a_file_is_ever_run",
        ),
    ),
    Threat(
        "A33",
        "A picture or a link carries away what was said.",
        "Nothing is loaded from elsewhere, and a link asks first.",
        (
            "tests/browser/test_hostile.py::test_texts_run_nothing_and_send_nothing",
            "tests/browser/test_hostile_places.py::test_a_link_asks_before_it_leads_away",
            "tests/browser/test_policy.py::test_the_page_has_nothing_inline_and_nothing_foreign",
        ),
    ),
    Threat(
        "A34",
        "A component answers by itself, or reads what is not its own.",
        "Components are the embedder's, and get their part and its answer alone.",
        (
            "tests/browser/test_react.py::test_a_component_draws_arguments_as_they_come_and_answers",
            "tests/browser/test_react.py::test_a_component_cannot_answer_before_its_time_or_for_a_reader_or_see_anything_else",
        ),
    ),
    Threat(
        "A35",
        "Another site lets somebody's browser ask us.",
        "No other origin may read, and with the cookie none may change anything.",
        (
            "tests/web/test_auth.py::test_with_the_cookie_only_the_own_page_changes_anything",
            "tests/web/test_auth.py::test_another_page_cannot_sign_anybody_in",
            "tests/web/test_table.py::test_every_answer_protects_the_browser",
            "tests/http/test_access.py::test_a_browser_session_needs_its_own_origin",
        ),
    ),
    Threat(
        "A36",
        "A token stands in an address, and so in a log.",
        "It is refused there, and is in no log and no file.",
        (
            "tests/security/test_secrets.py::test_a_token_is_in_no_log_and_no_file",
            "tests/web/test_auth.py::test_a_token_in_an_address_is_refused_and_not_repeated",
            "tests/web/test_mcp_door.py::test_a_token_in_the_address_is_refused",
        ),
    ),
    Threat(
        "A37",
        "A text or an id writes an event of its own into a stream.",
        "Frames are ours, whatever is in them.",
        (
            "tests/security/test_paths.py::test_no_text_writes_a_frame_of_its_own",
            "tests/web/test_mcp_waiting.py::test_nobody_can_write_a_line_for_somebody_else",
            "tests/security/test_evil.py::test_nothing_is_reached_whatever_the_model_says",
        ),
    ),
    Threat(
        "A38",
        "Another header says who asks, or a stream outlives the right to it.",
        "There is one way to say it, and streams end with what was revoked.",
        (
            "tests/security/test_paths.py::test_no_other_header_says_who_asks",
            "tests/web/test_auth.py::test_what_is_unclear_is_refused",
            "tests/web/test_space_stream.py::test_the_streams_of_a_revoked_token_end_and_no_others",
            "tests/web/test_space_stream.py::test_a_token_revoked_by_another_process_is_found_by_looking",
            "tests/http/test_gateways.py::test_a_stream_at_the_other_gateway_ends_with_the_right_to_read_it",
            "tests/http/test_access.py::test_a_member_who_leaves_hears_no_more",
        ),
    ),
    # Time, memory, money
    Threat(
        "A39",
        "Something is very deep, very large, compressed, or slow to match.",
        "Everything has a bound, and matching takes linear time.",
        (
            "tests/web/test_bodies.py::test_nesting_is_bounded",
            "tests/web/test_bodies.py::test_a_body_that_becomes_too_large_is_left",
            "tests/models/test_answer.py::test_ten_mib_of_arguments_are_read_and_more_are_refused",
            "tests/tools/test_build.py::test_slow_patterns_are_matched_in_linear_time",
            "tests/tools/test_build.py::test_hostile_arguments_are_answered_soon_and_briefly",
            "tests/egress/test_faults.py::test_compressed_answers_are_bounded_too",
            "tests/egress/test_faults.py::test_a_bomb_is_never_held_whole",
            "tests/security/test_evil.py::test_nothing_is_reached_whatever_the_model_says",
        ),
    ),
    Threat(
        "A40",
        "Agents wake each other, themselves, or wait in a circle, without end.",
        "Bounds stop them, and everybody sees why.",
        (
            "tests/http/test_storms.py::test_agents_that_always_mention_each_other_stop",
            "tests/http/test_bounds.py::test_a_chain_of_mentions_is_so_deep_and_no_deeper",
            "tests/http/test_bounds.py::test_one_trigger_leads_to_so_many_runs",
            "tests/http/test_replies.py::test_those_who_wait_in_a_circle_or_for_nobody_at_work_are_told",
            "tests/http/test_mentions.py::test_who_mentions_itself_mentions_nobody",
            "tests/security/test_evil.py::test_nothing_is_reached_whatever_the_model_says",
        ),
    ),
    Threat(
        "A41",
        "One client opens very many streams, or sends its request a byte at a time.",
        "There is a limit for each caller, and nobody is waited for without end.",
        (
            "tests/web/test_limits.py::test_who_is_over_a_limit_is_told_when_to_come_back",
            "tests/web/test_limits.py::test_a_second_s_worth_may_come_at_once_and_no_more",
            "tests/http/test_space_limits.py::test_a_space_takes_so_many_posts_a_second_from_all_together",
            "tests/web/test_server.py::test_a_client_that_says_nothing_is_not_waited_for",
            "tests/web/test_server.py::test_a_head_without_end_is_refused",
            "tests/web/test_space_stream.py::test_a_reader_who_does_not_read_is_cut_and_others_do_not_notice",
        ),
    ),
    Threat(
        "A42",
        "One trigger costs more and more.",
        "What it led to is counted before each step, and ends at a bound.",
        (
            "tests/http/test_bounds.py::test_one_trigger_uses_so_many_tokens",
            "tests/http/test_bounds.py::test_what_mentioned_runs_use_counts_and_the_roots_bound_holds_for_them",
            "tests/http/test_bounds.py::test_a_run_takes_so_many_steps",
            "tests/http/test_bounds.py::test_a_run_makes_so_many_calls_and_none_beyond",
        ),
    ),
    # MCP, memories, supply
    Threat(
        "A43",
        "An MCP server gives orders in the names, descriptions, schemas or errors of its tools.",
        "They are short, marked as its words, named after it, hidden, and take no other tool's place.",
        (
            "tests/executors/test_mcp_hostile.py::test_poison_is_bounded_marked_and_named_after_its_server",
            "tests/executors/test_mcp_hostile.py::test_ten_thousand_tools_and_pages_without_end_are_cut",
            "tests/executors/test_mcp_listing.py::test_words_are_bounded_and_cleaned",
            "tests/executors/test_mcp_listing.py::test_what_we_would_not_take_from_an_author_is_left_out",
            "tests/tools/test_servers.py::test_servers_whose_tools_could_share_a_name_are_refused",
        ),
    ),
    Threat(
        "A44",
        "An MCP server changes a tool after it was agreed to.",
        "The tool is off until its owner agrees again.",
        (
            "tests/http/test_mcp_approvals.py::test_a_tool_that_changes_is_held_over_a_restart_until_its_owner_approves_it",
            "tests/http/test_mcp_approvals.py::test_only_what_was_looked_at_is_approved",
            "tests/http/test_mcp_approvals.py::test_gateways_share_what_was_agreed_to",
        ),
    ),
    Threat(
        "A45",
        "An MCP server sends us elsewhere, asks us things, or plays with sessions.",
        "Nobody follows, and a session is one agent's alone.",
        (
            "tests/executors/test_mcp_hostile.py::test_a_hostile_answer_is_a_failure_and_the_next_call_works",
            "tests/executors/test_mcp_hostile.py::test_a_session_belongs_to_one_agent_whatever_its_name",
            "tests/executors/test_mcp_listing.py::test_a_host_that_the_operator_did_not_allow_is_not_reached",
        ),
    ),
    Threat(
        "A46",
        "What an agent should remember is an order.",
        "A memory is told only where it was learned, never as an instruction, and its owner takes it back.",
        (
            "tests/http/test_memories.py::test_a_note_is_never_an_instruction",
            "tests/http/test_memories.py::test_a_memory_is_told_where_everybody_could_have_read_it",
            "tests/http/test_memories.py::test_an_owner_sees_where_a_memory_comes_from",
            "tests/http/test_memories.py::test_an_owner_sees_adds_and_takes_back",
            "tests/http/test_memories.py::test_what_is_too_much_is_refused_as_a_whole",
            "tests/security/test_evil.py::test_nothing_is_reached_whatever_the_model_says",
        ),
    ),
    Threat(
        "A47",
        "A webhook is forged, replayed, late or changed.",
        "It is signed with its time, and an address to call back is good for one call, once.",
        (
            "tests/executors/test_webhook.py::test_a_call_is_forwarded_signed_and_its_answer_is_the_result",
            "tests/executors/test_webhook.py::test_a_right_signature_is_accepted_within_five_minutes",
            "tests/executors/test_webhook.py::test_anything_else_is_not_accepted",
            "tests/executors/test_webhook.py::test_keys_and_signatures_can_be_rotated",
            "tests/http/test_rotation.py::test_a_callback_that_is_on_its_way_is_taken_after_a_rotation",
            "tests/http/test_waiting.py::test_a_webhook_answers_at_once_or_calls_back_once",
            "tests/http/test_stuck.py::test_nobody_answers_in_place_of_a_webhook",
        ),
    ),
    Threat(
        "A48",
        "Somebody reads the database, a backup or an export.",
        "A secret there is a reference or sealed, and is in no export.",
        (
            "tests/security/test_secrets.py::test_no_secret_is_in_any_sink",
            "tests/http/test_bad_input.py::test_a_literal_secret_is_refused_without_a_key_to_seal_it",
            "tests/http/test_bad_input.py::test_a_sealed_secret_is_nowhere_in_clear",
            "tests/tools/test_sealing.py::test_every_literal_secret_is_found_sealed_and_opened",
            "tests/app/test_story_files.py::test_secrets_stay_where_they_are",
        ),
    ),
    Threat(
        "A49",
        "The time that a comparison takes tells a token.",
        "Tokens are known by their hash, and secrets are compared by the library's function.",
        (
            "tests/security/test_sources.py::test_secrets_are_compared_by_the_library_alone",
            "tests/web/test_limits.py::test_who_guesses_is_not_told_even_if_right_and_others_go_on",
            "tests/security/test_secrets.py::test_a_token_is_in_no_log_and_no_file",
        ),
    ),
    Threat(
        "A50",
        "A page elsewhere gets our address under its own name.",
        "We answer only to names that are ours.",
        (
            "tests/web/test_auth.py::test_a_host_is_known_by_its_name",
            "tests/web/test_auth.py::test_a_name_that_is_not_ours_gets_nothing",
            "tests/web/test_mcp_door.py::test_another_name_or_another_page_gets_nothing",
        ),
    ),
    Threat(
        "A51",
        "One bad request or one bad stream ends the process.",
        "It is one bad answer.",
        (
            "tests/web/test_problems.py::test_a_handler_that_breaks_is_one_bad_answer",
            "tests/web/test_space_stream.py::test_a_client_that_hangs_up_is_forgotten",
            "tests/models/test_answer.py::test_what_no_model_server_sends_is_garbage",
            "tests/security/test_evil.py::test_nothing_is_reached_whatever_the_model_says",
        ),
    ),
    Threat(
        "A52",
        "Two deployments share a database server and a bus.",
        "They do not meet, though everything has the same ids.",
        (
            "tests/http/test_twins.py::test_nothing_of_the_one_is_in_the_other",
            "tests/http/test_twins.py::test_ids_tokens_and_secrets_of_the_one_are_nothing_to_the_other",
            "tests/http/test_twins.py::test_what_an_agent_outside_says_to_the_one_is_not_said_in_the_other",
            "tests/bus/test_redis_link.py::test_deployments_on_one_server_do_not_meet",
            "tests/app/test_embedding.py::test_two_gateways_in_one_program_share_nothing",
        ),
    ),
    Threat(
        "A53",
        "A package that we depend on is poisoned.",
        "Packages are few, pinned by their hashes, and run no script when they are installed.",
        (
            "tests/security/test_sources.py::test_every_package_of_python_is_pinned_with_its_hash",
            "tests/security/test_sources.py::test_every_package_of_node_has_its_hash_and_runs_no_script",
            "tests/security/test_sources.py::test_the_packages_that_run_beside_ours_are_few",
        ),
    ),
)
UNMET: frozenset[str] = frozenset()
"""Those that no test shows yet."""
