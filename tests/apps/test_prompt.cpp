// Prompts on a terminal: editing, history, and what the commands show.
#include "tests/apps/terminal.h"
#include "tests/apps/translator.h"
#include "tests/catch.h"
#include "tests/models/folder_of_others.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

// Types a line, and returns what is shown until the next prompt; the line itself, which is drawn key by key,
// apart.
std::string answer(Terminal& t, const std::string& keys) {
    t.type(keys + "\n");
    REQUIRE(t.says("\r\n"));  // the end of the line that was typed
    REQUIRE(t.says("\r> "));
    std::string text;
    for (const char c : t.said())
        text += c == '\r' ? "" : std::string(1, c);
    return text;
}

// The program after its training or loading, at its first prompt.
struct Talk : Terminal {
    Talk(const std::string& program, const Words& arguments) : Terminal(program, arguments) {
        REQUIRE(says("commands begin with a colon; :help lists them\r\n\r> "));
    }
};

}  // namespace

TEST_CASE("prompt: lines are edited, and earlier ones come back", "[apps][prompt]") {
    if (!Terminal::possible())
        SKIP("an emulator would have to be started in the terminal");
    Talk t("toy_translate", {});
    CHECK(t.modes() != t.usual_modes());
    CHECK(answer(t, "thank you") == "merci\n");
    CHECK(answer(t, "goox" + std::string("\x7f") + "d morning") == "bonjour\n");  // Backspace
    CHECK(answer(t, kUp + kUp) == "merci\n");                                     // two lines up
    CHECK(answer(t, kUp + kUp + kUp + kDown) == "bonjour\n");                     // and down again
    CHECK(answer(t, "you" + kHome + "thank ") == "merci\n");                      // Home
    CHECK(answer(t, "you\033[1~thank \033[4~\x7fu") == "merci\n");                // Home, End: tmux, Linux
    CHECK(answer(t, "you\x01thank \x05\x7f\x7f\x7fyou") == "merci\n");            // Ctrl-A, Ctrl-E
    CHECK(answer(t, "no thank\x15thank you") == "merci\n");                       // Ctrl-U
    CHECK(answer(t, "thank you too" + kLeft + kLeft + kLeft + kLeft + "\x0b") == "merci\n");  // Ctrl-K
    CHECK(answer(t, "thxank you" + kHome + kRight + kRight + "\033[3~") == "merci\n");        // Delete
    CHECK(answer(t, "éthank you" + kHome + "\x04") == "merci\n");  // Ctrl-D deletes; whole characters
    CHECK(answer(t, "thank日 you" + kHome + kRight + kRight + kRight + kRight + kRight + kRight + "\x7f") ==
          "merci\n");
    CHECK(answer(t, kLeft + "\x7f" + kLeft + "thank you") == "merci\n");  // nothing is before the begin
    CHECK(answer(t, "good" + kUp + kDown + " morning") == "bonjour\n");   // what was typed is kept
    CHECK(answer(t, "thank you") == "merci\n");
    CHECK(answer(t, "good morning") == "bonjour\n");
    CHECK(answer(t, "good morning") == "bonjour\n");
    CHECK(answer(t, kUp + kUp) == "merci\n");  // the same line, twice in a row, is remembered once
    CHECK(answer(t, "") == "\n");              // an empty line is not remembered
    CHECK(answer(t, kUp) == "merci\n");
    t.type("thank you\ngood morning\n");  // pasted
    CHECK(t.says("merci"));
    CHECK(t.says("bonjour"));
    t.type("\x04");  // Ctrl-D
    CHECK(t.status() == 0);
    CHECK(t.modes() == t.usual_modes());
}

TEST_CASE("prompt: a line that is wider than the terminal is shown around the cursor", "[apps][prompt]") {
    if (!Terminal::possible())
        SKIP("an emulator would have to be started in the terminal");
    Talk t("toy_translate", {});
    t.resize({.rows = 24, .columns = 20});
    const std::string line = "see you soon see you soon see you soon";
    t.type(line + "!");
    REQUIRE(t.says("!"));
    t.type(kHome);
    REQUIRE(t.says("\r> "));
    REQUIRE(t.says("\033[K"));
    CHECK(t.said() == "\0337see you soon see ");  // 17 characters: a column is left free
    t.type(kEnd);
    REQUIRE(t.says("\r> "));
    REQUIRE(t.says("\0337"));
    CHECK(t.said() == "oon see you soon!");
    t.resize({.rows = 24, .columns = 80});
    REQUIRE(t.says("\r> " + line + "!"));
    REQUIRE(t.says("\033[K\0338"));
    CHECK(t.is_silent(500));  // drawn once for the new size, and not again
    t.type("\x03");           // Ctrl-C
    CHECK(t.status() == 130);
}

TEST_CASE("prompt: a tree may be narrower than the list that --n asks for", "[apps][prompt]") {
    if (!Terminal::possible())
        SKIP("an emulator would have to be started in the terminal");
    Talk t("toy_translate", {"--n", "3"});
    answer(t, "hello world");
    CHECK(contains(answer(t, ":beam 2"), "\n  <sos>  0.00\n"));
}

TEST_CASE("prompt: toy_translate shows how it comes to a translation", "[apps][prompt]") {
    if (!Terminal::possible())
        SKIP("an emulator would have to be started in the terminal");
    Talk t("toy_translate", {});
    CHECK(contains(t.said(), "knows 10 words"));
    CHECK(contains(answer(t, ":beam"), "first type a sentence"));
    CHECK(answer(t, "Hello, World!") == "read as: hello world\nbonjour le monde\n");
    const std::string next = answer(t, ":next bonjour le");
    CHECK(lines_of(next).size() == 5);
    CHECK(lines_of(next)[0].ends_with("  monde"));
    CHECK(std::stod(next) > 0.9);
    CHECK(lines_of(answer(t, ":next"))[0].ends_with("  bonjour"));
    const std::string tree = answer(t, ":beam 2");
    CAPTURE(tree);
    CHECK(contains(tree, "\n  <sos>  0.00\n"));
    CHECK(contains(tree, "monde <eos>  "));
    // The scores are those of the search itself.
    const Words best = lines_of(run("toy_translate", {"--beam", "2", "--n", "2", "hello world"}).out);
    const std::string after_first = tree.substr(tree.find("   score ") + 9);
    CHECK(std::abs(std::stod(after_first) - number_after(best[best.size() - 2], "  (")) < 0.0006);
    CHECK(std::abs(number_after(after_first, "   score ") - number_after(best.back(), "  (")) < 0.0006);
    CHECK(answer(t, ":beam") == answer(t, ":beam 5"));
    CHECK(answer(t, ":beam") != answer(t, ":beam 4"));
    CHECK(contains(answer(t, ":beam 0"), ":beam needs a whole number from 1 to 100: got '0'"));
    CHECK(contains(answer(t, ":attention 9"), ":attention takes no argument: got 9"));
    const Words looked = lines_of(answer(t, ":attention"));
    REQUIRE(looked.size() == 5);
    CHECK(contains(looked[0], "hello"));
    CHECK(looked[1].starts_with("bonjour"));
    CHECK(looked[4].starts_with("  <eos>"));

    const std::string unknown = answer(t, "thank yuo zzzz");
    CHECK(
        unknown.starts_with("unknown: yuo; did you mean you? :words lists what is known\n"
                            "unknown: zzzz; :words lists what is known\n"));
    CHECK_FALSE(contains(answer(t, "thank yuo zzzz"), "unknown"));  // once is enough
    CHECK(answer(t, ":words h") == "hello how\n");
    CHECK(answer(t, ":words x") == "none\n");
    CHECK(answer(t, ":bean") == "unknown command :bean; did you mean :beam? :help lists them\n");
    const std::string help = answer(t, ":help");
    for (const char* const command : {":next", ":beam", ":attention", ":words", ":help", ":quit"})
        CHECK(contains(help, std::string("\n  ") + command) != help.starts_with(std::string("  ") + command));
    CHECK(contains(answer(t, ":quit now"), ":quit takes no argument: got now"));
    t.type(":quit \n");
    CHECK(t.status() == 0);
}

TEST_CASE("prompt: the conversation in apps/README.md is what toy_translate says", "[apps][prompt]") {
    if (!Terminal::possible())
        SKIP("an emulator would have to be started in the terminal");
    Talk t("toy_translate", {});
    const std::string page = content("apps/README.md"),
                      greeting = "knows 10 words (:words); commands begin with a colon; :help lists them\n";
    const std::size_t begin = page.find("\n" + greeting);
    REQUIRE(begin != page.npos);
    std::string said;
    int typed = 0;
    for (const std::string& line : lines_of(page.substr(begin, page.find("\n```", begin) - begin)))
        if (line.starts_with("> ")) {
            said += line + "\n" + answer(t, line.substr(2));
            ++typed;
        }
    CHECK(typed == 3);
    CAPTURE(said);
    CHECK(page.substr(begin + 1).starts_with(greeting + said + "```"));
}

TEST_CASE("prompt: classify", "[apps][prompt]") {
    if (!Terminal::possible())
        SKIP("an emulator would have to be started in the terminal");
    const Folder folder;
    const std::string data =
        folder.write("moods.tsv", "good\tlovely day\ngood\tlovely\nbad\tawful day\nbad\tawful\n");
    REQUIRE(
        run("classify", {"train", data, "--validation", "0", "--epochs", "40", "--save", folder / "moods"})
            .status == 0);
    Talk labels("classify", {"predict", folder / "moods"});
    const std::string good = answer(labels, "Lovely evening!");
    CAPTURE(good);
    CHECK(good.starts_with("good\tgood=0."));
    CHECK(contains(answer(labels, ":attention"), "lovely"));
    CHECK(contains(answer(labels, ":beam"), "unknown command :beam"));
    CHECK_FALSE(contains(answer(labels, ":help"), ":beam"));
    labels.type("\x04");
    CHECK(labels.status() == 0);
}

TEST_CASE("prompt: the commands of generate, which read the end of a text that is longer than the context",
          "[apps][prompt]") {
    if (!Terminal::possible())
        SKIP("an emulator would have to be started in the terminal");
    const Folder folder;
    std::string text;
    for (int i = 0; i < 200; ++i)
        text += "abcd efgh\n";
    const std::string file = folder.write("text", text);
    REQUIRE(run("generate", {"train", file, "--steps", "60", "--layers", "1", "--d-model", "32", "--context",
                             "16", "--save", folder / "text_run"})
                .status == 0);
    Talk writer("generate", {folder / "text_run", "--tokens", "6", "--temperature", "0"});
    CHECK(contains(answer(writer, "ab☃"), "character 3 of this line is \"☃\", which is not among the 10 "));
    CHECK(answer(writer, "abc").starts_with("abcd efgh"));
    CHECK(lines_of(answer(writer, ":next"))[0].ends_with("  d"));
    CHECK(lines_of(answer(writer, ":next abcd"))[0].ends_with("  ␣"));
    CHECK(contains(answer(writer, ":beam 1"), " d ␣ e f g h ↵ "));
    CHECK(lines_of(answer(writer, ":attention")).size() == 4);
    CHECK(contains(answer(writer, "abcd efgh abcd efgh abc"), "abcd efgh abcd efgh abcd"));
    CHECK(lines_of(answer(writer, ":next"))[0].ends_with("  d"));
    CHECK(lines_of(answer(writer, ":next abcd efgh abcd efgh"))[0].ends_with("  ↵"));
    CHECK(contains(answer(writer, ":beam 1"), " d "));
    CHECK(lines_of(answer(writer, ":attention")).size() == 17);  // a row is of the columns' names
    writer.type(":quit\n");
    CHECK(writer.status() == 0);

    Talk draws("generate", {folder / "text_run", "--tokens", "60", "--temperature", "3"});
    const std::string once = answer(draws, "abcd"), twice = answer(draws, "abcd");
    CHECK((once.starts_with("abcd") && twice.starts_with("abcd")));
    CHECK(once.substr(0, 40) != twice.substr(0, 40));  // each line has a seed of its own
    draws.type(":quit\n");
    CHECK(draws.status() == 0);
}

TEST_CASE("prompt: what a model of bytes writes ends before the next prompt", "[apps][prompt]") {
    if (!Terminal::possible())
        SKIP("an emulator would have to be started in the terminal");
    const Folder folder;
    const std::string text = folder.write("text", std::string(600, 'a'));
    REQUIRE(run("generate", {"train", text, "--bytes", "--steps", "60", "--lr", "0.02", "--layers", "1",
                             "--d-model", "16", "--heads", "1", "--save", folder / "run"})
                .status == 0);
    Talk t("generate", {folder / "run", "--tokens", "4", "--temperature", "0"});
    CHECK(contains(answer(t, "a"), "aaaaa\n"));
    t.type(":quit\n");
    CHECK(t.status() == 0);
}

// It has no character to begin with but its own; and none of them is its end.
TEST_CASE("prompt: a model of a text without a line break", "[apps][prompt]") {
    if (!Terminal::possible())
        SKIP("an emulator would have to be started in the terminal");
    const Folder folder;
    const std::string no_break = folder.write("no_break", std::string(600, 'a') + "b");
    REQUIRE(run("generate", {"train", no_break, "--steps", "1", "--layers", "1", "--d-model", "32", "--save",
                             folder / "no_break_run"})
                .status == 0);
    Talk small("generate", {folder / "no_break_run"});
    const Words two = lines_of(answer(small, ":next"));
    REQUIRE(two.size() == 2);
    CHECK((two[0].ends_with("  a") || two[0].ends_with("  b")));
    CHECK((two[1].ends_with("  a") || two[1].ends_with("  b")));
    small.type(":quit\n");
    CHECK(small.status() == 0);
}

TEST_CASE("prompt: translate run", "[apps][prompt]") {
    if (!Terminal::possible())
        SKIP("an emulator would have to be started in the terminal");
    const Files f;
    REQUIRE(translate(f.train({"--lower-case", "--steps", "30", "--save", f.run})).status == 0);
    Talk t("translate", {"run", f.run});
    CHECK(contains(answer(t, "One Seven."), "this line: the model has never seen 3 of 8 words or pieces"));
    CHECK(lines_of(answer(t, ":next")).size() == 5);
    CHECK(contains(answer(t, ":beam 2"), "<sos>"));
    const std::string attention = answer(t, ":attention");
    CHECK(lines_of(attention)[0].find("<eos>") != std::string::npos);
    CHECK(contains(answer(t, "☃"), "this line: the model has never seen 1 of 1 words or pieces"));
    CHECK(answer(t, ":attention") != attention);  // also of a line that is unknown as a whole
    t.type("\x04");
    CHECK(t.status() == 0);
}

TEST_CASE("prompt: generate, with a model whose words nobody lists", "[apps][prompt][generate]") {
    if (!Terminal::possible())
        SKIP("an emulator would have to be started in the terminal");
    const Folder folder;
    write_folder(folder);
    Talk t("generate", {folder.path, "--tokens", "9", "--stop", "x"});
    CHECK(contains(t.said(), "drawing: temperature 0.8, top-k 50"));
    const std::string first = answer(t, "All human"), second = answer(t, "All human");
    CHECK(first.starts_with("All human"));
    const std::string speed = "\n9 tokens in ";
    CHECK(contains(first, speed));
    CHECK(first.substr(0, first.find(speed)) != second.substr(0, second.find(speed)));
    CHECK(lines_of(answer(t, ":next")).size() == 5);
    CHECK(lines_of(answer(t, ":next All human beings are")).size() == 5);
    CHECK(contains(answer(t, ":beam 2"), "\n  <sos>  0.00\n"));
    CHECK(contains(lines_of(answer(t, ":attention"))[0], "A"));
    CHECK(contains(answer(t, ":words"), "unknown command :words; "));
    CHECK_FALSE(contains(answer(t, ":help"), ":words"));
    t.type(":quit\n");
    CHECK(t.status() == 0);
}
