"""The list of attacks on egress by name (docs/egress.md), and for each of them the tests that show how it ends. Tests below
kubernetes/ need a real node, and some of them run at night."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BOX, NAMES, SECRETS, SERVERS, FLOODS, ANSWERS = (
    f"tests/attacks/test_egress{one}.py:test_" for one in ("", "_names", "_secrets", "_servers", "_floods", "_resolution"))
AT_WORK, FENCE, USE = "tests/integration/test_box_egress.py:test_", "tests/integration/test_egress_fence.py:test_", "tests/integration/test_box_secrets.py:test_"
NODE, NODE_SECRETS = "tests/kubernetes/launcher/test_egress.py:test_", "tests/kubernetes/launcher/test_egress_secrets.py:test_"
PODS, SEEN = "tests/container/egress/cluster/cluster_proxy_test.cpp:", "tests/container/egress/cluster/seen_pods_test.cpp:"
OBJECTS, HELLO = "tests/container/cluster/egress/objects_test.cpp:", "tests/protocol/net/client_hello_test.cpp:"

ATTACKS = {
    "a direct connection to an allowed server, by IPv6, by UDP": [BOX + "there_is_no_way_past_the_proxy", NODE + "a_sandbox_reaches_the_names_and_nothing_else"],
    "raw sockets, packet sockets, ICMP": [BOX + "there_is_no_way_past_the_proxy", "tests/integration/test_box_escapes.py:test_nothing_is_reached"],
    "name servers inside and outside": [BOX + "there_is_no_way_past_the_proxy", NAMES + "messages_that_are_none_are_refused_or_ignored", NODE + "a_sandbox_reaches_the_names_and_nothing_else"],
    "messages in names below a wildcard": [BOX + "messages_in_names_below_a_wildcard_are_few", NAMES + "messages_in_names_below_a_wildcard_are_few"],
    "metadata, API server, kubelet, another sandbox, the canary": [
        BOX + "there_is_no_way_past_the_proxy", BOX + "all_addresses_must_be_public", NODE + "a_sandbox_reaches_the_names_and_nothing_else",
        NODE + "a_credential_is_good_for_its_own_pod_alone"],
    "before the fence is up": [FENCE + "commands_wait_until_the_network_is_closed", FENCE + "no_name_is_known_before_the_network_is_closed",
                               NODE + "nothing_passes_before_the_fence_or_after_the_end"],
    "after the end of the Pod": [PODS + "CutsAllOfAPodThatLeaves", "tests/container/drivers/pods/egress/egress_test.cpp:TheEndOfItsProcessesComesBeforeTheEndOfItsPod",
                                 NODE + "nothing_passes_before_the_fence_or_after_the_end"],
    "no credential, a wrong one, another's": [PODS + "ServesASandboxByItsAddressAndItsToken", NODE + "a_credential_is_good_for_its_own_pod_alone"],
    "an address that is used again": [PODS + "ServesNobodyWhoseAddressIsInDoubt", PODS + "ATokenCountsNoLongerThanWhatGaveIt"],
    "a Pod in the network of its node": [SEEN + "IsServedInItsOwnNetworkAndUntilItsEndAlone", PODS + "ServesNobodyWhoseAddressIsInDoubt"],
    "names with userinfo, fragments, paths, escapes, controls, empty labels": [BOX + "names_have_one_form", "tests/container/egress/host_name_test.cpp:IsNothingElse"],
    "names in capitals and with a dot at their end": [AT_WORK + "a_box_reaches_what_it_may_by_name", "tests/container/egress/host_name_test.cpp:HasOneForm"],
    "names of Unicode": [BOX + "names_have_one_form"],
    "addresses as names, in all their forms": [BOX + "names_have_one_form", "tests/container/egress/host_name_test.cpp:IsNoAddressInAnyForm"],
    "names beside a wildcard": [BOX + "wildcards_end_at_a_label", "tests/container/egress/policy_test.cpp:NamesAllBelowAName"],
    "localhost, services, the proxy itself": [BOX + "wildcards_end_at_a_label", BOX + "all_addresses_must_be_public", "tests/container/net/public_address_test.cpp:IsNotOneOfThisMachine"],
    "an allowed name with another port": [BOX + "wildcards_end_at_a_label", BOX + "names_have_one_form"],
    "a name with private addresses, and one that turns inwards": [BOX + "all_addresses_must_be_public", ANSWERS + "a_name_that_turns_inwards_is_judged_at_each_connection",
                                                                  "tests/container/net/public_address_test.cpp:IsNotSpecial"],
    "search domains": [BOX + "all_addresses_must_be_public"],
    "an alias of an inner name": [ANSWERS + "an_address_counts_and_no_alias"],
    "TLS for another host, for none, for two, in tiny records": [BOX + "tls_asks_for_the_host_of_the_tunnel", BOX + "an_encrypted_hello_is_judged_by_its_outer_name",
                                                                 HELLO + "RefusesWhatTwoReadersCouldReadDifferently", HELLO + "ComesByteByByteInRecordsOfAnySize"],
    "another protocol in a tunnel": [BOX + "tls_asks_for_the_host_of_the_tunnel"],
    "another host behind an allowed one's TLS": [SERVERS + "what_cannot_be_seen_is_as_the_page_says", SECRETS + "requests_that_are_refused"],
    "an encrypted hello": [BOX + "an_encrypted_hello_is_judged_by_its_outer_name"],
    "another host in TLS that the proxy ends": [SECRETS + "requests_that_are_refused"],
    "requests that two readers read differently": [BOX + "what_two_readers_could_read_differently_ends_the_connection", NAMES + "requests_in_a_tunnel_are_framed_anew",
                                                   SECRETS + "requests_that_are_refused", "tests/container/egress/plain_http_test.cpp:RefusesWhatTwoReadersCouldReadDifferently"],
    "HTTP/2": [SECRETS + "protocols_and_the_certificate", SECRETS + "what_the_client_sends_beside_the_secret"],
    "paths that servers read in different ways": [SECRETS + "a_secret_for_some_requests_is_used_for_no_other",
                                                  "tests/container/egress/terminate/request_rule_test.cpp:APathThatServersReadInDifferentWaysIsNotClear"],
    "another method in a field": [SECRETS + "a_secret_for_some_requests_is_used_for_no_other"],
    "TRACE": [SECRETS + "requests_that_are_refused", BOX + "other_requests_are_refused_by_name"],
    "WebSockets": [SECRETS + "a_web_socket_passes_only_if_the_secret_is_for_it"],
    "a secret that is echoed": [SECRETS + "an_echo_is_masked", SERVERS + "the_secret_in_any_part_of_an_answer_is_masked"],
    "a secret that is echoed in gzip": [SECRETS + "an_echo_is_masked", SERVERS + "answers_that_are_none_are_refused_and_not_quoted"],
    "a secret that is echoed in another form": [SERVERS + "what_cannot_be_seen_is_as_the_page_says"],
    "a placeholder elsewhere": [SECRETS + "a_placeholder_is_replaced_in_its_field_alone"],
    "a redirect to another host": [SERVERS + "a_redirect_is_the_clients_affair"],
    "a way out on an allowed host": [SECRETS + "a_secret_for_some_requests_is_used_for_no_other", USE + "a_secret_that_fetches_does_not_push"],
    "an upload to an allowed host": [SECRETS + "uploads_are_limited", SECRETS + "a_secret_for_some_requests_is_used_for_no_other"],
    "a certificate that is expired or another's, and old TLS": [SECRETS + "only_the_right_server_gets_it", SERVERS + "a_server_that_is_none_gets_no_secret"],
    "a client with old TLS": [SECRETS + "protocols_and_the_certificate"],
    "slow and idle connections, heads without an end": [BOX + "many_connections_are_bounded", BOX + "other_requests_are_refused_by_name",
                                                        FLOODS + "halves_of_requests_give_their_places_back"],
    "many slow readers and many halves": [FLOODS + "slow_readers_take_little_memory", FLOODS + "halves_of_requests_keep_their_places_and_no_more",
                                          PODS + "BoundsThoseWhoSayNothing"],
    "names without number": [SERVERS + "names_without_number_get_no_certificates", "tests/container/egress/terminate/authority_test.cpp:SignsForItsHostsAlone"],
    "a stolen key of the authority": ["tests/container/egress/terminate/authority_test.cpp:AThiefOfItsKeySignsForItsHostsAlone", SECRETS + "protocols_and_the_certificate",
                                      NODE_SECRETS + "a_secret_is_changed_removed_and_made_anew"],
    "other rules while a request runs": [AT_WORK + "a_new_policy_holds_at_once", BOX + "a_new_policy_cuts_a_request_without_an_answer", NODE + "a_policy_is_replaced_and_cuts_what_it_forbids"],
    "broken rules": [BOX + "a_broken_policy_keeps_the_old_one", PODS + "CutsWhatTheNewAnnotationDoesNotAllow"],
    "no proxy, no secret": [AT_WORK + "a_dead_proxy_lets_nothing_pass", USE + "a_new_value_counts_at_once_and_a_removed_one_is_missed", NODE + "without_the_proxy_nothing_passes"],
    "a request that is sent again": [PODS + "ServesASandboxByItsAddressAndItsToken", PODS + "ATokenCountsNoLongerThanWhatGaveIt"],
    "a credential in logs": [USE + "git_pushes_without_a_token", SERVERS + "answers_that_are_none_are_refused_and_not_quoted", NODE_SECRETS + "a_token_is_used_and_is_nowhere_in_the_sandbox"],
    "the proxy's metrics": [OBJECTS + "CanaryAndMetricsAreOpenToEverybodyAndTheProxyToFencedPods", OBJECTS + "TheFenceLeadsToTheProxyAlone",
                            NODE + "a_sandbox_reaches_the_names_and_nothing_else"],
}


def test_there_are_fifty():
    assert len(ATTACKS) == 50


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_tests_of_an_attack_are_there(attack):
    for test in ATTACKS[attack]:
        path, name = test.split(":")
        found = rf"^def {name}\(" if path.endswith(".py") else rf"^(?:CO_)?TEST(?:_F)?\(\w+, {name}[,)]"
        assert re.search(found, (ROOT / path).read_text(), re.M), test
