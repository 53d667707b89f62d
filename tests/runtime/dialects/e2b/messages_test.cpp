#include "runtime/dialects/e2b/messages.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace skiff::runtime::dialects::e2b {
namespace {

TEST(E2bMessages, ReadsAStart) {
  const auto start = read_start(R"({"process":{"cmd":"/bin/bash","args":["-l","-c","echo"],"envs":{"A":"1"},"cwd":"/x"},
      "pty":{"size":{"cols":100,"rows":"30"}},"tag":"t","stdin":false,"unknown":{"a":[1]}})");
  ASSERT_TRUE(start) << start.error().message;
  EXPECT_EQ(start->argv, (std::vector<std::string>{"/bin/bash", "-l", "-c", "echo"}));
  EXPECT_EQ(start->envs.at("A"), "1");
  EXPECT_EQ(start->cwd, "/x");
  EXPECT_EQ(start->pty->cols, 100);
  EXPECT_EQ(start->pty->rows, 30);
  EXPECT_EQ(start->tag, "t");
  EXPECT_FALSE(start->stdin_open);
}

TEST(E2bMessages, StdinIsOpenUnlessItIsSaid) {
  EXPECT_TRUE(read_start(R"({"process":{"cmd":"x"}})")->stdin_open);
  EXPECT_TRUE(read_start(R"({"process":{"cmd":"x","cwd":null},"stdin":null,"pty":null})")->stdin_open);
}

TEST(E2bMessages, RefusesWhatIsNotAStart) {
  EXPECT_EQ(read_start("").error().code, Errc::missing_field);
  EXPECT_EQ(read_start("{").error().code, Errc::malformed_json);
  EXPECT_EQ(read_start("[]").error().code, Errc::invalid_field);
  EXPECT_EQ(read_start(R"({"process":3})").error().code, Errc::invalid_field);
  EXPECT_EQ(read_start(R"({"process":{"cmd":""}})").error().code, Errc::missing_field);
  EXPECT_EQ(read_start(R"({"process":{"cmd":"a","args":"b"}})").error().message,
            "/process/args: expected a list of strings");
  EXPECT_EQ(read_start(R"({"process":{"cmd":"a\u0000b"}})").error().message, "/process/cmd: holds a NUL byte");
  EXPECT_EQ(read_start(R"({"process":{"cmd":"a","envs":{"A=":"1"}}})").error().code, Errc::invalid_field);
  EXPECT_EQ(read_start(R"({"process":{"cmd":"a","envs":{"A":1}}})").error().code, Errc::invalid_field);
  EXPECT_EQ(read_start(R"({"process":{"cmd":"a"},"pty":{"size":{"cols":70000,"rows":1}}})").error().message,
            "/pty/size/cols: expected a number from 0 to 65535");
}

TEST(E2bMessages, TakesBase64InEveryFormOfProtobuf) {
  const auto input = [](const std::string& text) {
    return read_send_input(R"({"process":{"pid":7},"input":{"stdin":")" + text + "\"}}");
  };
  for (const char* text : {"+/+/Pw==", "-_-_Pw==", "+/+/Pw", "-_-_Pw", "-/+_Pw"}) {
    const auto message = input(text);
    ASSERT_TRUE(message) << text;
    EXPECT_EQ(message->input.bytes, "\xfb\xff\xbf?") << text;
  }
  for (const char* text : {"%", "Pw===", "P", "P w"}) EXPECT_FALSE(input(text)) << text;
}

TEST(E2bMessages, ReadsAList) {
  EXPECT_TRUE(read_list(""));
  EXPECT_TRUE(read_list(R"({"unknown":1})"));
  EXPECT_EQ(read_list("{").error().code, Errc::malformed_json);
  EXPECT_EQ(read_list("[]").error().code, Errc::invalid_field);
}

TEST(E2bMessages, KnowsFieldsByBothOfTheirNames) {
  EXPECT_EQ(*read_watcher_id(R"({"watcherId":"a"})"), "a");
  EXPECT_EQ(*read_watcher_id(R"({"watcher_id":"a"})"), "a");
  EXPECT_TRUE(read_path(R"({"path":"x","include_entry":true})")->include_entry);
}

TEST(E2bMessages, SelectsAProcessByPidOrTag) {
  EXPECT_EQ(read_connect(R"({"process":{"pid":7}})")->process.pid, 7U);
  for (const char* const pid : {"\"7\"", "7.0", "0.7e1", "\"70e-1\""}) {
    EXPECT_EQ(read_connect(R"({"process":{"pid":)" + std::string{pid} + "}}")->process.pid, 7U) << pid;
  }
  for (const char* const pid : {"7.5", "-7.0", "1e300", "\" 7\"", "\"seven\"", "\"\"", "\"7e\"", "true", "[7]"}) {
    EXPECT_EQ(read_connect(R"({"process":{"pid":)" + std::string{pid} + "}}").error().code, Errc::invalid_field) << pid;
  }
  EXPECT_EQ(read_connect(R"({"process":{"tag":"t"}})")->process.tag, "t");
  EXPECT_EQ(read_connect(R"({"process":{}})").error().code, Errc::missing_field);
  EXPECT_EQ(read_connect(R"({"process":{"pid":-1}})").error().code, Errc::invalid_field);
  EXPECT_EQ(read_connect(R"({"process":{"pid":4294967296}})").error().code, Errc::invalid_field);
}

TEST(E2bMessages, ReadsWhereToResume) {
  EXPECT_FALSE(read_connect(R"({"process":{"pid":7}})")->resume_from);
  const auto pipes = read_connect(R"({"process":{"pid":7},"resumeFrom":{"stdout":"5","stderr":3}})");
  EXPECT_EQ(pipes->resume_from->out, 5U);
  EXPECT_EQ(pipes->resume_from->err, 3U);
  EXPECT_EQ(read_connect(R"({"process":{"pid":7},"resume_from":{"pty":"9"}})")->resume_from->out, 9U);
}

TEST(E2bMessages, ReadsInput) {
  const auto input = read_send_input(R"({"process":{"pid":7},"input":{"stdin":"aGk="}})");
  EXPECT_EQ(input->input.bytes, "hi");
  EXPECT_FALSE(input->input.is_pty);
  EXPECT_TRUE(read_send_input(R"({"process":{"pid":7},"input":{"pty":"aGk="}})")->input.is_pty);
  EXPECT_EQ(read_send_input(R"({"process":{"pid":7},"input":{"stdin":"a"}})").error().code, Errc::invalid_field);
  EXPECT_EQ(read_send_input(R"({"process":{"pid":7}})").error().code, Errc::missing_field);
  EXPECT_EQ(read_stream_input(R"({"start":{"process":{"pid":7}}})")->start->pid, 7U);
  EXPECT_EQ(read_stream_input(R"({"data":{"input":{"stdin":"aGk="}}})")->data->bytes, "hi");
  const auto sign_of_life = read_stream_input(R"({"keepalive":{}})");
  EXPECT_TRUE(sign_of_life && !sign_of_life->start && !sign_of_life->data);
}

TEST(E2bMessages, KnowsTwoSignals) {
  EXPECT_EQ(read_send_signal(R"({"process":{"pid":7},"signal":"SIGNAL_SIGKILL"})")->signal, SIGKILL);
  EXPECT_EQ(read_send_signal(R"({"process":{"pid":7},"signal":15})")->signal, SIGTERM);
  EXPECT_EQ(read_send_signal(R"({"process":{"pid":7},"signal":2})").error().code, Errc::not_supported);
  EXPECT_EQ(read_send_signal(R"({"process":{"pid":7}})").error().code, Errc::not_supported);
}

TEST(E2bMessages, ReadsAnInit) {
  const auto init = read_init(R"({"envVars":{"A":"b"},"accessToken":"t","defaultUser":"u","defaultWorkdir":"/w",
      "timestamp":"2026-01-01T00:00:00Z","hyperloopIP":"1.2.3.4","volumeMounts":[],"caBundle":""})");
  ASSERT_TRUE(init) << init.error().message;
  EXPECT_EQ(init->env_vars->at("A"), "b");
  EXPECT_EQ(init->access_token, "t");
  EXPECT_EQ(init->default_user, "u");
  EXPECT_EQ(init->default_workdir, "/w");
  EXPECT_FALSE(read_init("")->env_vars);
  EXPECT_EQ(read_init(R"({"volumeMounts":[{"nfs_target":"a","path":"/b"}]})").error().code, Errc::not_supported);
}

TEST(E2bMessages, WritesEvents) {
  EXPECT_EQ(start_event(7, std::nullopt), R"({"event":{"start":{"pid":7}}})");
  EXPECT_EQ(start_event(7, OutputOffsets{.out = 5, .err = 3}),
            R"({"event":{"start":{"pid":7,"offsets":{"stdout":"5","stderr":"3","pty":"5"}}}})");
  EXPECT_EQ(data_event("stdout", "hi", std::nullopt), R"({"event":{"data":{"stdout":"aGk="}}})");
  EXPECT_EQ(data_event("pty", "hi", 9), R"({"event":{"data":{"pty":"aGk=","offset":"9"}}})");
}

TEST(E2bMessages, SaysAnEndAsGoDoes) {
  sessions::ExitStatus status;
  status.exit_code = 0;
  EXPECT_EQ(end_event(status), R"({"event":{"end":{"exitCode":0,"exited":true,"status":"exit status 0"}}})");
  status.exit_code = 3;
  EXPECT_EQ(end_event(status),
            R"({"event":{"end":{"exitCode":3,"exited":true,"status":"exit status 3","error":"exit status 3"}}})");
  status.exit_code.reset();
  status.signal = SIGKILL;
  EXPECT_EQ(end_event(status),
            R"({"event":{"end":{"exitCode":-1,"exited":false,"status":"signal: killed","error":"signal: killed"}}})");
  status.signal = SIGSEGV;
  status.core_dumped = true;
  EXPECT_NE(end_event(status).find("signal: segmentation fault (core dumped)"), std::string::npos);
}

}  // namespace
}  // namespace skiff::runtime::dialects::e2b
