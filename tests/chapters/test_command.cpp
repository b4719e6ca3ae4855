// Commands that chapters quote, and tables with commas.
#include <filesystem>

#include "autograd/base/check.h"
#include "tests/catch.h"
#include "tests/chapters/command.h"
#include "tests/folder.h"

using namespace plaingrad;            // NOLINT
using namespace plaingrad::chapters;  // NOLINT

namespace {

// A variable of the environment, as long as this object exists.
struct Variable {
    Variable(const char* name_, const std::string& value) : name(name_) {
        if (const char* const now = std::getenv(name))
            before = now;
        setenv(name, value.c_str(), 1);
    }
    ~Variable() { before.empty() ? unsetenv(name) : setenv(name, before.c_str(), 1); }
    const char* name;
    std::string before;
};

}  // namespace

TEST_CASE("chapters: a command is run as a shell does", "[chapters]") {
    CHECK(output_of("echo one two; echo three >&2") == "one two\n");
    CHECK(output_of("echo " + quoted("it's $HOME")) == "it's $HOME\n");
    CHECK_THROWS_WITH(output_of("exit 3"), "'exit 3' ended with status 768; has `make` built it?");
}

TEST_CASE("chapters: programs are those of this build", "[chapters]") {
    const tests::Folder folder;
    const std::string apps = folder / "a user's apps";
    std::filesystem::create_directory(apps);
    tests::put(apps + "/tasks", "#!/bin/sh\necho tasks \"$@\"\n");
    std::filesystem::permissions(apps + "/tasks", std::filesystem::perms::owner_all);
    const Variable of_apps("PLAINGRAD_APPS", apps), of_bench("PLAINGRAD_BENCH", apps),
        run("PLAINGRAD_RUN", "");
    CHECK(output_of("./apps/tasks --seed 2") == "tasks --seed 2\n");
    CHECK(output_of("build/bench/tasks --csv") == "tasks --csv\n");
    const Variable emulator("PLAINGRAD_RUN", "env -u HOME");
    CHECK(output_of("./apps/tasks 5 3 9") == "tasks 5 3 9\n");
}

TEST_CASE("chapters: a table with commas has its heading and its columns", "[chapters]") {
    using Rows = std::vector<std::vector<std::string>>;
    CHECK(rows_of("a,b\n1,2\n3,\n", "a,b") == Rows{{"1", "2"}, {"3", ""}});
    CHECK_THROWS_WITH(rows_of("a,c\n1,2\n", "a,b"), "the table begins with 'a,c'; expected 'a,b'");
    CHECK_THROWS_WITH(rows_of("a,b\n1,2\n1\n", "a,b"), "row 2 of the table has 1 values, not 2: 1");
}
