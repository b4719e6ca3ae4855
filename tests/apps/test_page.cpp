// The page of a training run, in a browser: nothing overflows, nothing is printed or fetched, and what one
// points at or moves changes what is drawn.
#include "apps/kit/report.h"

#include "apps/kit/run.h"
#include "tests/apps/browser.h"
#include "tests/apps/run.h"
#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT

namespace {

// A run of 81 steps whose numbers are made up, and a model that is not trained.
std::string log_text() {
    std::string log = "step,loss,validation loss,learning rate,gradient norm,seconds,tokens/s\n";
    for (int i = 1; i <= 81; ++i)
        log += autograd::join(i, ",", 3.0 / i, ",", i % 10 == 0 ? autograd::join(3.5 / i) : "", ",0.00", i,
                              ",", 1.0 / i, ",", i / 10.0, ",", 1000 + i, "\n");
    return log;
}

// Of a model that is not trained.
kit::RunPlan plan_of(const models::Transformer& model, kit::ReportModel report_model) {
    return {.report_model = std::move(report_model), .objective = kit::objective_of(model)};
}

std::string lines_of(const std::string& sample, const std::string& label) {
    const models::Transformer model(small("paper"), autograd::Rng(1));
    const models::Batch texts = {padded({{4, 5, 6, 2}, {4, 5, 6, 2}}), padded({{1, 6, 5, 2}, {1, 6, 5, 2}})};
    const kit::Labels names = {"<pad>", "<sos>", "<eos>", "<unk>", "a", label, "c"};
    kit::RunPlan plan = plan_of(model, kit::report_model_of(model, {texts.src, texts.read()}, names, names));
    plan.report_model.answers = [&] {
        return kit::Answers{{sample}, {"weather", "music"}, {{9, 1}, {0, 12}}};
    };
    kit::Recorder recorder(plan, 81);
    recorder.call(0, {{"program", "test"}, {"folder", ""}}, "--steps=81\n--",
                  {{"", 1e-3}, {"encoder.layers.0.norm1", 2e-3}, {"decoder.layers.1.feed_forward", 7e-3}});
    for (int step = 0; step <= 81; ++step) {
        for (const nn::NamedParameter& p : nn::parameters(model))
            p.tensor.mutable_data()[step % p.tensor.numel()] += 1;
        if (recorder.is_due(step))
            recorder.snapshot(step);
    }
    const auto score = [](int step) {
        return autograd::join("{\"kind\":\"score\",\"step\":", step, ",\"name\":\"BLEU\",\"value\":30.5}\n");
    };
    return recorder.lines() + score(20) + score(80);
}

std::string page_in(const Folder& folder, const std::string& html, const char* name = "page.html") {
    put(folder / name, html);
    return folder / name;
}

// The labels that leave their drawing, or, in the model's, their box.
const char* const kLabelsOutside =
    "[...document.querySelectorAll('svg text')].filter(t => { const b = t.getBoundingClientRect(), s = "
    "t.ownerSVGElement.getBoundingClientRect(); return b.left < s.left - 1 || b.right > s.right + 1 || b.top "
    "< "
    "s.top - 1 || b.bottom > s.bottom + 1 || t.closest('#model') && t.getComputedTextLength() > 250; })"
    ".map(t => t.textContent)";

// Twelve elements whose places do not depend on the fonts of a machine, and from where they are measured.
struct Measured {
    const char *name, *from, *element;
};
const std::vector<Measured> kMeasured = {
    {"heading", "body", "h1"},
    {"first chart", "#curves .pair", "#curves svg"},
    {"second chart", "#curves .pair", "#curves figure:nth-of-type(2) > svg"},
    {"first head", "#attention .multiples", "#attention canvas"},
    {"fifth head", "#attention .multiples", "#attention button:nth-of-type(5) canvas"},
    {"last cell", "#head [data-row]", "#head [data-row]:last-child"},
    {"mask", "#masks .multiples", "#masks canvas"},
    {"positions", "#positions .multiples", "#positions canvas"},
    {"embeddings", "#embeddings figure", "#embeddings svg"},
    {"samples", "#samples p", "#samples table"},
    {"histogram", "#values .tiles", "#values svg"},
    {"model", "#model figure", "#model svg"}};

// "heading 1440: 20 24 1160 31": left and top, from the other element's, width and height.
std::string boxes(Browser& browser, int width) {
    std::string all;
    for (const Measured& m : kMeasured)
        all += autograd::join(m.name, " ", width, ": ",
                              browser.value(autograd::join(
                                  "(() => { const [a, b] = ['", m.from, "', '", m.element,
                                  "'].map(s => document.querySelector(s).getBoundingClientRect()); "
                                  "return [b.left - a.left, b.top - a.top, b.width, b.height].map(x => "
                                  "Math.round(x)).join(' '); })()")),
                              "\n");
    return all;
}

}  // namespace

TEST_CASE("page: in a browser, at three widths, light and dark", "[apps][page][browser]") {
    if (chromium().empty())
        SKIP("there is no Chromium");
    const Folder folder;
    const std::string page =
        page_in(folder, kit::html_page("a run", {{"", log_text(), lines_of("a b -> b a", "b")}}));
    Browser browser;
    const std::string sections = "[...document.querySelectorAll('section')].map(s => s.id).join(' ')";
    const std::string overflow = "document.documentElement.scrollWidth - innerWidth";
    for (const int width : {360, 768, 1440})
        for (const bool dark : {false, true}) {
            INFO(width << (dark ? ", dark" : ", light"));
            browser.open(page, width, 900, dark);
            CHECK(browser.value(sections) ==
                  "curves attention masks positions embeddings samples confusion values model run");
            CHECK(browser.value(overflow) == "0");
            CHECK(browser.value(kLabelsOutside) == "[]");
            CHECK(browser.console == std::vector<std::string>());
            CHECK(browser.requests == std::vector<std::string>());
            CHECK(browser.value("getComputedStyle(document.body).backgroundColor") ==
                  (dark ? "rgb(13, 17, 23)" : "rgb(255, 255, 255)"));
            // No picture is of one colour.
            CHECK(
                browser.value(
                    "[...document.querySelectorAll('#attention canvas')].filter(c => new "
                    "Set(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).size < 3).length") ==
                "0");
        }
    // Planted, so the checks can fail: a label that leaves its figure, and a line that leaves the page.
    browser.value("document.querySelector('#model svg text').textContent = 'overlong '.repeat(40)");
    CHECK(contains(browser.value(kLabelsOutside), "overlong"));
    browser.value(
        "document.querySelector('main').append(Object.assign(document.createElement('pre'), "
        "{textContent: 'overlong '.repeat(400)}))");
    CHECK(browser.value(overflow) != "0");
}

TEST_CASE("page: what one moves and points at changes what is drawn", "[apps][page][browser]") {
    if (chromium().empty())
        SKIP("there is no Chromium");
    const Folder folder;
    const std::string page =
        page_in(folder, kit::html_page("a run", {{"", log_text(), lines_of("a b -> b a", "b")}}));
    Browser browser;
    browser.open(page, 1440);
    const std::string pictures =
        "[...document.querySelectorAll('#attention canvas')].map(c => c.toDataURL()).join()";
    const std::string slider = "document.querySelector('#attention input[type=range]')";
    const std::string last = browser.value(pictures);
    CHECK(browser.value(slider + ".value") == "9");
    browser.value(slider + ".focus()");
    browser.press("ArrowLeft");
    CHECK(browser.value(slider + ".value") == "8");
    CHECK(browser.value("document.querySelector('#attention output').textContent") ==
          "step 64 (9 of 10 snapshots)");
    CHECK(browser.value(pictures) != last);
    CHECK(browser.value("location.hash") == "#snapshot=8");
    browser.press("ArrowRight");
    CHECK(browser.value(pictures) == last);

    const std::string readout = "document.querySelector('#curves figcaption').textContent";
    const std::string before = browser.value(readout);
    CHECK(contains(before, "training 0.037"));
    browser.point_at("#curves figure");
    CHECK(browser.value(readout).starts_with("step 3"));
    browser.value("document.querySelector('#curves figure').focus()");
    browser.press("ArrowLeft");
    CHECK(browser.value(readout).starts_with("step 3"));
    const std::string line = "document.querySelector('#curves path.line').getAttribute('d')";
    const std::string linear = browser.value(line);
    CHECK(browser.value("(document.querySelector('#curves button').click(), " + line + ")") != linear);

    CHECK(browser.value("document.querySelector('#head h3').textContent")
              .starts_with("cross-attention, layer 2"));
    browser.value("document.querySelector('#attention button').click()");
    CHECK(browser.value("document.querySelector('#head h3').textContent") ==
          "encoder self-attention, layer 1, head 1");
    browser.point_at("#head .row");
    CHECK(browser.value("document.querySelector('#head figcaption').textContent").starts_with("a looks at "));
    CHECK(browser.value("document.querySelectorAll('#head .lit').length") == "4");
    // The drawing of the model has each layer's share of the time, a tenth for the loss.
    CHECK(
        browser.value("[...document.querySelectorAll('#model svg text')].map(t => t.textContent).filter(t => "
                      "t.includes(' %')).join('; ')") ==
        "self-attention, add, norm · 20 %; feed-forward, add, norm · 70 %; output layer, loss · 10 %");
    browser.point_at("#embeddings svg text");
    CHECK(browser.value("document.querySelector('#embeddings figcaption').textContent")
              .starts_with("nearest to a: "));
    // A reload and a link keep the state.
    browser.open(page, 1440, 900, false, "#snapshot=3&text=1&head=encoder.layers.1.self_attention:2");
    CHECK(browser.value(slider + ".value") == "3");
    CHECK(browser.value("document.querySelector('#head h3').textContent") ==
          "encoder self-attention, layer 2, head 3");
    CHECK(browser.console.empty());
}

TEST_CASE("page: the boxes of twelve elements are where they were", "[apps][page][browser]") {
    if (chromium().empty())
        SKIP("there is no Chromium");
    const Folder folder;
    const std::string page =
        page_in(folder, kit::html_page("a run", {{"", log_text(), lines_of("a b -> b a", "b")}}));
    Browser browser;
    std::string now;
    for (const int width : {360, 1440}) {
        browser.open(page, width);
        now += boxes(browser, width);
    }
    const std::string file = "tests/apps/page_boxes.txt";
    if (environment("PLAINGRAD_RENEW", "") == "1")  // PLAINGRAD_RENEW=1 make test TESTS='[page]'
        put(file, now);
    std::istringstream kept(content(file)), found(now);
    int lines = 0;
    for (std::string a, b; std::getline(kept, a) && std::getline(found, b); ++lines) {
        INFO(a << "   now " << b);
        const std::size_t colon = a.find(':');
        REQUIRE(a.substr(0, colon) == b.substr(0, colon));
        std::istringstream before(a.substr(colon + 1)), after(b.substr(colon + 1));
        for (int x = 0, y = 0; before >> x && after >> y;)
            CHECK(std::abs(x - y) <= 2);
    }
    CHECK(lines == 24);
    // So the check can fail: an element that is moved by its style is not where it was.
    browser.value("document.querySelector('#masks canvas').style.marginLeft = '5px'");
    CHECK(now.find(boxes(browser, 1440)) == now.npos);
}

// HTML compares names of tags without case, and `<!--<script` hides the end of the data from the browser.
TEST_CASE("page: no text of users has a tag in the page's source", "[apps][page]") {
    for (const std::string evil : {"</SCRIPT><img>", "</ScRiPt >", "<!--<script>", "a < b"}) {
        const std::string html = kit::html_page(evil, {{evil, log_text(), lines_of(evil, evil)}});
        const std::size_t data = html.find("id=\"data\">") + 10, end = html.find("</script>", data);
        REQUIRE(end != html.npos);
        CAPTURE(evil);
        CHECK(html.substr(data, end - data).find('<') == std::string::npos);
        CHECK(html.find(evil) == std::string::npos);
    }
}

TEST_CASE("page: texts of users are shown, and not run", "[apps][page][browser]") {
    const std::string evil = "</script><script>document.title = 'run'</script><img src=x onerror=alert(1)>";
    const std::string html = kit::html_page(evil, {{evil, log_text(), lines_of(evil, evil)}});
    const std::size_t data = html.find("id=\"data\">");
    CHECK(html.find("</script>", data) ==
          html.rfind("</script>", html.rfind("<script>")));  // the data's own end
    if (chromium().empty())
        SKIP("there is no Chromium");
    const Folder folder;
    Browser browser;
    browser.open(page_in(folder, html), 768);
    CHECK(browser.value("document.title") == evil);
    CHECK(browser.value("document.querySelector('h1').textContent") == evil);
    CHECK(browser.value("document.querySelector('#samples tr:last-child td:last-child').textContent") ==
          evil);
    CHECK(browser.value("document.querySelectorAll('img').length") == "0");
    CHECK(browser.value("document.documentElement.scrollWidth - innerWidth") == "0");
    CHECK(browser.console.empty());
    CHECK(browser.requests.empty());
}

TEST_CASE("page: a run without a log, with a cut recording, or without anything shows what there is",
          "[apps][page][browser]") {
    if (chromium().empty())
        SKIP("there is no Chromium");
    const Folder folder;
    Browser browser;
    const std::string lines = lines_of("a", "b");
    const auto sections = [&](const std::string& log, const std::string& recorded) {
        browser.open(page_in(folder, kit::html_page("a run", {{"", log, recorded}})), 768);
        CHECK(browser.console.empty());
        return browser.value("[...document.querySelectorAll('section')].map(s => s.id).join(' ')");
    };
    CHECK(sections("", lines) ==
          "curves attention masks positions embeddings samples confusion values model run");
    CHECK(sections(log_text(), "") == "curves run");
    CHECK(sections("", "") == "curves run");
    CHECK(sections(log_text(), lines.substr(0, lines.size() - 20)).starts_with("curves attention"));
    CHECK(contains(browser.value("document.querySelector('#run').textContent"),
                   "1 line of the log or the recording"));
    // A log that was cut within a line, here in "81": what is whole is drawn, and the page says so.
    CHECK(sections(log_text().substr(0, log_text().rfind("1,0.03")), lines).starts_with("curves attention"));
    CHECK(contains(browser.value("document.querySelector('#run').textContent"), "done80 steps"));
    CHECK(contains(browser.value("document.querySelector('#run').textContent"), "1 line of the log"));
    CHECK(sections("step,loss\n1,2\n2,", "{\"kind\":\"sample\"}\nrubbish\n[1,2]\n").starts_with("curves "));
}

TEST_CASE("page: two runs are laid over each other, with what differs in their settings",
          "[apps][page][browser]") {
    if (chromium().empty())
        SKIP("there is no Chromium");
    const Folder folder;
    Browser browser;
    std::string other = lines_of("a", "b");
    other.replace(other.find("--steps=81"), 10, "--steps=60");
    browser.open(page_in(folder, kit::html_page("two runs", {{"one", log_text(), lines_of("a", "b")},
                                                             {"two", log_text(), other}})),
                 1440);
    CHECK(
        contains(browser.value("document.querySelector('#curves figcaption').textContent"), "one, training"));
    CHECK(
        contains(browser.value("document.querySelector('#curves figcaption').textContent"), "two, training"));
    CHECK(browser.value("document.querySelector('#run table:last-child').textContent") ==
          "onetwo--steps8160");
    CHECK(browser.console.empty());
}

TEST_CASE("page: of a model with twelve layers of twelve heads, fewer positions, and it says so",
          "[apps][page][browser]") {
    models::Config config = small("paper");
    config.block.d_model = 24;
    config.block.n_heads = 12;
    config.n_layers = config.n_decoder_layers = 12;
    const models::Transformer model(config, autograd::Rng(1));
    const Ids ids(32, 5);
    const autograd::Tokens texts = padded({ids, ids, ids});
    const kit::Labels names(11, "word");
    const kit::RunPlan plan =
        plan_of(model, kit::report_model_of(model, {texts, texts.slice(0, 31)}, names, names));
    kit::Recorder recorder(plan, 100);
    for (int step = 0; step <= 100; ++step)
        if (recorder.is_due(step))
            recorder.snapshot(step);
    const std::string page = kit::html_page("a run", {{"", log_text(), recorder.lines()}});
    CHECK(recorder.lines().size() > 3'000'000);
    CHECK(page.size() < 7'500'000);
    if (chromium().empty())
        SKIP("there is no Chromium");
    const Folder folder;
    Browser browser;
    browser.open(page_in(folder, page), 360);
    CHECK(browser.value("document.querySelector('#attention output').textContent") ==
          "step 100 (10 of 10 snapshots; the first 16 positions, to keep the page small)");
    CHECK(browser.value("document.querySelectorAll('#attention canvas').length") == "432");
    CHECK(browser.value("document.documentElement.scrollWidth - innerWidth") == "0");
    CHECK(browser.console.empty());
}

TEST_CASE("page: masks show padding and the future, heads only the text", "[apps][page][browser]") {
    const models::Transformer model(small("paper"), autograd::Rng(1));
    const autograd::Tokens source = padded({{4, 5, 6, 7, 8, 2}, {4, 5, 6, 2}}),
                           target = padded({{1, 6, 5}, {1, 6}});
    const kit::Labels names = {"<pad>", "<sos>", "<eos>", "<unk>", "a", "b", "c", "d", "e"};
    const kit::ReportModel report_model = kit::report_model_of(model, {source, target}, names, names);
    if (chromium().empty())
        SKIP("there is no Chromium");
    const kit::RunPlan plan = plan_of(model, report_model);
    kit::Recorder recorder(plan, 1);
    recorder.snapshot(0);
    const Folder folder;
    Browser browser;
    browser.open(page_in(folder, kit::html_page("a run", {{"", log_text(), recorder.lines()}})), 768, 900,
                 false, "#text=1");
    const auto picture = [&](const std::string& canvas) {  // a row of each picture: # where it is filled
        return browser.value(
            "[...document.querySelectorAll('" + canvas +
            "')].map(c => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
            "return Array.from({length: c.height}, (_, y) => Array.from({length: c.width}, (_, x) => "
            "d[4 * (y * c.width + x) + 3] ? '#' : '.').join('')).join(' '); }).join('; ')");
    };
    CHECK(picture("#masks canvas") ==
          "####.. ####.. ####.. ####.. ####.. ####..; #.. ##. ##.; ####.. ####.. ####..");
    CHECK(
        contains(browser.value("document.querySelector('#masks p').textContent"), "a b c <eos> <pad> <pad>"));
    CHECK(picture("#attention button:first-child canvas") ==
          "#### #### #### ####; #. ##; #### ####");  // of each kind, the first
}

TEST_CASE("page: a curve that does not move is drawn, also smoothed", "[apps][page][browser]") {
    if (chromium().empty())
        SKIP("there is no Chromium");
    const Folder folder;
    std::string log = "step,loss,learning rate\n";
    for (int i = 1; i <= 200; ++i)
        log += autograd::join(i, ",0.671,0.001\n");
    Browser browser;
    browser.open(page_in(folder, kit::html_page("a run", {{"", log, ""}})), 1440);
    CHECK(browser.value("document.querySelectorAll('#curves svg').length") != "0");
}

TEST_CASE("page: of a long log, one step in some is drawn, and every validation", "[apps][page]") {
    std::string log = "step,loss,validation loss\n";
    for (int i = 1; i <= 10'000; ++i)
        log += autograd::join(i, ",2,", i % 1000 == 7 ? "3" : ",", "\n");
    const std::string page = kit::html_page("a run", {{"", log, ""}});
    CHECK(page.size() < 100'000);
    for (const char* const row : {"\\n8,2,,\\n12,2,,\\n", "\\n9007,2,3\\n", "\\n10000,2,,\\n"})
        CHECK(contains(page, row));
    CHECK_FALSE(contains(page, "\\n5,2,,"));
}

TEST_CASE("page: of a resumed run, what came again, once; and of a damaged recording, what can be read",
          "[apps][page][browser]") {
    const std::string lines = lines_of("a", "b"), snapshot = "{\"kind\":\"snapshot\"";
    const auto count = [](const std::string& text, const std::string& part) {
        int64_t n = 0;
        for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1))
            ++n;
        return n;
    };
    CHECK(count(lines, "\"kind\":\"snapshot\"") == 10);
    CHECK(count(lines, "\"kind\":\"embedding\"") == 1);
    if (chromium().empty())
        SKIP("there is no Chromium");
    const std::size_t last = lines.rfind(snapshot);
    const std::string again = lines.substr(last, lines.find('\n', last) + 1 - last);
    const Folder folder;
    Browser browser;
    browser.open(
        page_in(folder, kit::html_page("a run", {{"", log_text(),
                                                  lines +
                                                      "{\"kind\":\"call\",\"step\":25,"
                                                      "\"facts\":[],\"settings\":\"\",\"seconds\":[]}\n" +
                                                      again + "{\"kind\":\"cut"}})),
        1440);
    CHECK(browser.value("snapshots.map(s => s.step).join()") == "0,1,4,9,16,25,81");
    CHECK(browser.value("first.of('score').length") == "1");  // that of step 20
    CHECK(contains(browser.value("document.querySelector('#run').textContent"), "1 line of the log"));
}
