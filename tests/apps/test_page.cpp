// The page of a training run, in a browser: nothing overflows, nothing is printed or fetched, and what one
// points at or moves changes what is drawn.
#include "apps/kit/report.h"

#include "apps/kit/run.h"
#include "tests/apps/browser.h"
#include "tests/apps/run.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT

namespace {

// A run of 81 steps whose numbers are made up.
std::string log_text() {
    std::string log = "step,loss,validation loss,learning rate,gradient norm,seconds,tokens/s\n";
    for (int i = 1; i <= 81; ++i)
        log += autograd::join(i, ",", 3.0 / i, ",", i % 10 == 0 ? autograd::join(3.5 / i) : "", ",0.00", i,
                              ",", 1.0 / i, ",", i / 10.0, ",", 1000 + i, "\n");
    return log;
}

// Of a model that is not trained.
kit::RunPlan plan_of(const models::Transformer& model, const models::Batch& texts, const kit::Labels& names) {
    return {.report_model = kit::report_model_of(model, {texts.src, texts.tgt}, names, names),
            .objective = kit::objective_of(model)};
}

// What a recorder writes of so many steps, in which the weights do not change.
std::string recorded_by(const kit::RunPlan& plan, int64_t steps) {
    kit::Recorder recorder(plan, steps);
    for (int64_t step = 0; step <= steps; ++step)
        if (recorder.is_due(step))
            recorder.snapshot(step);
    return recorder.lines();
}

// What is recorded of a run with everything.
std::string recorded(const std::string& sample = "a", const std::string& label = "b") {
    const models::Transformer model(small("paper"), autograd::Rng(1));
    kit::RunPlan plan = plan_of(model, {padded({{4, 5, 6, 2}, {4, 5, 6, 2}}), padded({{1, 6, 5}, {1, 6, 5}})},
                                {"<pad>", "<sos>", "<eos>", "<unk>", "a", label, "c"});
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

std::string page_of(const std::string& log, const std::string& lines) {
    return kit::html_page("a run", {{"", log, lines}});
}

// A browser that has opened such a page.
struct Shown : Browser {
    explicit Shown(const std::string& html = page_of(log_text(), recorded("a b -> b a")), int width = 1440,
                   const std::string& fragment = "") {
        show(html, width, false, fragment);
    }
    void show(const std::string& html, int width, bool dark = false, const std::string& fragment = "") {
        open(folder.write("page.html", html), width, 900, dark, fragment);
    }
    Folder folder;
};

// The labels that leave their drawing, or, in the model's, their box.
const char* const kLabelsOutside =
    "[...document.querySelectorAll('svg text')].filter(t => { const b = t.getBoundingClientRect(), s = "
    "t.ownerSVGElement.getBoundingClientRect(); return b.left < s.left - 1 || b.right > s.right + 1 || b.top "
    "< "
    "s.top - 1 || b.bottom > s.bottom + 1 || t.closest('#model') && t.getComputedTextLength() > 250; })"
    ".map(t => t.textContent)";

const std::string kAllSections =
    "curves attention masks positions embeddings samples confusion values model run";

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
    NEEDS_BROWSER();
    const std::string html = page_of(log_text(), recorded("a b -> b a"));
    Shown browser(html);
    for (const int width : {360, 768, 1440})
        for (const bool dark : {false, true}) {
            INFO(width << (dark ? ", dark" : ", light"));
            browser.show(html, width, dark);
            CHECK(browser.sections() == kAllSections);
            CHECK(browser.complaints() == "");
            CHECK(browser.value(kLabelsOutside) == "[]");
            CHECK(browser.value("getComputedStyle(document.body).backgroundColor") ==
                  (dark ? "rgb(13, 17, 23)" : "rgb(255, 255, 255)"));
            // No picture is of one colour.
            CHECK(
                browser.value(
                    "[...document.querySelectorAll('#attention canvas')].filter(c => new "
                    "Set(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).size < 3).length") ==
                "0");
        }
}

TEST_CASE("page: what one moves and points at changes what is drawn", "[apps][page][browser]") {
    NEEDS_BROWSER();
    Shown browser;
    const std::string pictures =
        "[...document.querySelectorAll('#attention canvas')].map(c => c.toDataURL()).join()";
    const std::string slider = "document.querySelector('#attention input[type=range]')";
    const std::string last = browser.value(pictures);
    CHECK(browser.value(slider + ".value") == "9");
    browser.value(slider + ".focus()");
    browser.press("ArrowLeft");
    CHECK(browser.value(slider + ".value") == "8");
    CHECK(browser.text("#attention output") == "step 64 (9 of 10 snapshots)");
    CHECK(browser.value(pictures) != last);
    CHECK(browser.value("location.hash") == "#snapshot=8");
    browser.press("ArrowRight");
    CHECK(browser.value(pictures) == last);

    check_says(browser.text("#curves figcaption"), {"training 0.037"});
    browser.point_at("#curves figure");
    CHECK(browser.text("#curves figcaption").starts_with("step 3"));
    browser.value("document.querySelector('#curves figure').focus()");
    browser.press("ArrowLeft");
    CHECK(browser.text("#curves figcaption").starts_with("step 3"));
    const std::string line = "document.querySelector('#curves path.line').getAttribute('d')";
    const std::string linear = browser.value(line);
    CHECK(browser.value("(document.querySelector('#curves button').click(), " + line + ")") != linear);

    CHECK(browser.text("#head h3").starts_with("cross-attention, layer 2"));
    browser.value("document.querySelector('#attention button').click()");
    CHECK(browser.text("#head h3") == "encoder self-attention, layer 1, head 1");
    browser.point_at("#head .row");
    CHECK(browser.text("#head figcaption").starts_with("a looks at "));
    CHECK(browser.value("document.querySelectorAll('#head .lit').length") == "4");
    // The drawing of the model has each layer's share of the time, a tenth for the loss.
    CHECK(
        browser.value("[...document.querySelectorAll('#model svg text')].map(t => t.textContent).filter(t => "
                      "t.includes(' %')).join('; ')") ==
        "self-attention, add, norm · 20 %; feed-forward, add, norm · 70 %; output layer, loss · 10 %");
    browser.point_at("#embeddings svg text");
    CHECK(browser.text("#embeddings figcaption").starts_with("nearest to a: "));
    // A reload and a link keep the state.
    browser.open(browser.folder / "page.html", 1440, 900, false,
                 "#snapshot=3&text=1&head=encoder.layers.1.self_attention:2");
    CHECK(browser.value(slider + ".value") == "3");
    CHECK(browser.text("#head h3") == "encoder self-attention, layer 2, head 3");
    CHECK(browser.complaints() == "");
}

TEST_CASE("page: the boxes of twelve elements are where they were", "[apps][page][browser]") {
    NEEDS_BROWSER();
    const std::string html = page_of(log_text(), recorded("a b -> b a"));
    Shown browser(html);
    std::string now;
    for (const int width : {360, 1440}) {
        browser.show(html, width);
        now += boxes(browser, width);
    }
    const std::string file = "tests/apps/page_boxes.txt";
    if (environment("PLAINGRAD_RENEW", "") == "1")  // PLAINGRAD_RENEW=1 make test TESTS='[page]'
        put(file, now);
    const Words kept = lines_of(content(file)), found = lines_of(now);
    REQUIRE((kept.size() == 24 && found.size() == 24));
    for (std::size_t i = 0; i < 24; ++i) {
        INFO(kept[i] << "   now " << found[i]);
        const std::size_t colon = kept[i].find(':');
        REQUIRE(kept[i].substr(0, colon) == found[i].substr(0, colon));
        std::istringstream before(kept[i].substr(colon + 1)), after(found[i].substr(colon + 1));
        for (int x = 0, y = 0; before >> x && after >> y;)
            CHECK(std::abs(x - y) <= 2);
    }
}

// HTML compares names of tags without case, and `<!--<script` hides the end of the data from the browser.
TEST_CASE("page: texts of users are shown, and not run", "[apps][page][browser]") {
    const std::string runs = "</script><script>document.title = 'run'</script><img src=x onerror=alert(1)>";
    for (const std::string& evil : {std::string("</SCRIPT><img>"), std::string("</ScRiPt >"),
                                    std::string("<!--<script>"), std::string("a < b"), runs}) {
        const std::string html = kit::html_page(evil, {{evil, log_text(), recorded(evil, evil)}});
        const std::size_t data = html.find("id=\"data\">") + 10, end = html.find("</script>", data);
        CAPTURE(evil);
        REQUIRE(end != html.npos);
        CHECK(html.substr(data, end - data).find('<') == std::string::npos);
        CHECK_FALSE(contains(html, evil));
        CHECK(end == html.rfind("</script>", html.rfind("<script>")));  // the data's own end
    }
    NEEDS_BROWSER();
    Shown browser(kit::html_page(runs, {{runs, log_text(), recorded(runs, runs)}}), 768);
    CHECK(browser.value("document.title") == runs);
    CHECK(browser.text("h1") == runs);
    CHECK(browser.text("#samples tr:last-child td:last-child") == runs);
    CHECK(browser.value("document.querySelectorAll('img').length") == "0");
    CHECK(browser.complaints() == "");
}

TEST_CASE("page: a cut log, a cut recording, or nothing at all", "[apps][page][browser]") {
    NEEDS_BROWSER();
    Shown browser;
    const std::string lines = recorded(), log = log_text(), one_line = "1 line of the log or the recording";
    for (const auto& [of_log, of_lines, sections, says] : std::vector<std::array<std::string, 4>>{
             {"", lines, kAllSections, ""},
             {log, "", "curves run", ""},
             {"", "", "curves run", ""},
             {log, lines.substr(0, lines.size() - 20), "curves attention", one_line},
             // A log that was cut within a line, here in "81": what is whole is drawn.
             {log.substr(0, log.rfind("1,0.03")), lines, "curves attention", "done80 steps"},
             {log.substr(0, log.rfind("1,0.03")), lines, "curves attention", one_line},
             {"step,loss\n1,2\n2,", "{\"kind\":\"sample\"}\nrubbish\n[1,2]\n", "curves ", ""}}) {
        browser.show(page_of(of_log, of_lines), 768);
        CHECK(browser.sections().starts_with(sections));
        check_says(browser.text("#run"), {says});
        CHECK(browser.complaints() == "");
    }
    // A curve that does not move is drawn, also smoothed.
    std::string flat = "step,loss,learning rate\n";
    for (int i = 1; i <= 200; ++i)
        flat += autograd::join(i, ",0.671,0.001\n");
    browser.show(page_of(flat, ""), 1440);
    CHECK(browser.value("document.querySelectorAll('#curves svg').length") != "0");
}

TEST_CASE("page: two runs are laid over each other", "[apps][page][browser]") {
    NEEDS_BROWSER();
    std::string other = recorded();
    other.replace(other.find("--steps=81"), 10, "--steps=60");
    Shown browser(kit::html_page("two runs", {{"one", log_text(), recorded()}, {"two", log_text(), other}}));
    check_says(browser.text("#curves figcaption"), {"one, training", "two, training"});
    CHECK(browser.text("#run table:last-child") == "onetwo--steps8160");
    CHECK(browser.complaints() == "");
}

TEST_CASE("page: of a large model, fewer positions, and it says so", "[apps][page][browser]") {
    models::Config config = small("paper");
    config.block.d_model = 24;
    config.block.n_heads = 12;
    config.n_layers = config.n_decoder_layers = 12;
    const models::Transformer model(config, autograd::Rng(1));
    const Ids ids(32, 5);
    const autograd::Tokens texts = padded({ids, ids, ids});
    const std::string lines =
        recorded_by(plan_of(model, {texts, texts.slice(0, 31)}, kit::Labels(11, "word")), 100);
    const std::string page = page_of(log_text(), lines);
    CHECK(lines.size() > 3'000'000);
    CHECK(page.size() < 7'500'000);
    NEEDS_BROWSER();
    Shown browser(page, 360);
    CHECK(browser.text("#attention output") ==
          "step 100 (10 of 10 snapshots; the first 16 positions, to keep the page small)");
    CHECK(browser.value("document.querySelectorAll('#attention canvas').length") == "432");
    CHECK(browser.complaints() == "");
}

TEST_CASE("page: masks show padding and the future, heads only the text", "[apps][page][browser]") {
    NEEDS_BROWSER();
    const models::Transformer model(small("paper"), autograd::Rng(1));
    const models::Batch texts = {padded({{4, 5, 6, 7, 8, 2}, {4, 5, 6, 2}}), padded({{1, 6, 5}, {1, 6}})};
    const kit::Labels names = {"<pad>", "<sos>", "<eos>", "<unk>", "a", "b", "c", "d", "e"};
    Shown browser(page_of(log_text(), recorded_by(plan_of(model, texts, names), 1)), 768, "#text=1");
    const auto picture = [&](const std::string& canvas) {  // a row of each picture: # where it is filled
        return browser.value(
            "[...document.querySelectorAll('" + canvas +
            "')].map(c => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
            "return Array.from({length: c.height}, (_, y) => Array.from({length: c.width}, (_, x) => "
            "d[4 * (y * c.width + x) + 3] ? '#' : '.').join('')).join(' '); }).join('; ')");
    };
    CHECK(picture("#masks canvas") ==
          "####.. ####.. ####.. ####.. ####.. ####..; #.. ##. ##.; ####.. ####.. ####..");
    check_says(browser.text("#masks p"), {"a b c <eos> <pad> <pad>"});
    CHECK(picture("#attention button:first-child canvas") ==
          "#### #### #### ####; #. ##; #### ####");  // of each kind, the first
}

TEST_CASE("page: of a long log, one step in some is drawn, and every validation", "[apps][page]") {
    std::string log = "step,loss,validation loss\n";
    for (int i = 1; i <= 10'000; ++i)
        log += autograd::join(i, ",2,", i % 1000 == 7 ? "3" : ",", "\n");
    const std::string page = page_of(log, "");
    CHECK(page.size() < 100'000);
    check_says(page, {"\\n8,2,,\\n12,2,,\\n", "\\n9007,2,3\\n", "\\n10000,2,,\\n"});
    CHECK_FALSE(contains(page, "\\n5,2,,"));
}

TEST_CASE("page: of a resumed run, what came again, once", "[apps][page][browser]") {
    const std::string lines = recorded(), snapshot = "{\"kind\":\"snapshot\"";
    CHECK(count_of("\"kind\":\"snapshot\"", lines) == 10);
    CHECK(count_of("\"kind\":\"embedding\"", lines) == 1);
    NEEDS_BROWSER();
    const std::size_t last = lines.rfind(snapshot);
    const std::string again = lines.substr(last, lines.find('\n', last) + 1 - last),
                      call =
                          "{\"kind\":\"call\",\"step\":25,\"facts\":[],\"settings\":\"\",\"seconds\":[]}\n";
    Shown browser(page_of(log_text(), lines + call + again + "{\"kind\":\"cut"));
    CHECK(browser.value("snapshots.map(s => s.step).join()") == "0,1,4,9,16,25,81");
    CHECK(browser.value("first.of('score').length") == "1");  // that of step 20
    check_says(browser.text("#run"), {"1 line of the log"});
}

// The picture of the embeddings: the page's script computes it.
TEST_CASE("page: principal components, and the nearest neighbours", "[apps][page][browser]") {
    NEEDS_BROWSER();
    Shown browser(page_of("", ""), 768);
    // Along (3, 4) / 5 the points lie at -2, -1, 0, 1, 2; across it, at 0.1 and -0.1 in turn; all are moved
    // by (10, 20). The covariance is diagonal along these, so they are its eigenvectors.
    const std::string points =
        "(window.along = [-2, -1, 0, 1, 2], window.across = [0.1, -0.1, 0, -0.1, 0.1], "
        "along.map((a, i) => [10 + 0.6 * a - 0.8 * across[i], 20 + 0.8 * a + 0.6 * across[i]]))";
    const std::string off = "(() => { const [xs, ys] = principalComponents(" + points +
                            "); const side = (a, b) => Math.sign(a[0] * b[0]); return Math.max("
                            "...xs.map((x, i) => Math.abs(x * side(xs, along) - along[i])), "
                            "...ys.map((y, i) => Math.abs(y * side(ys, across) - across[i]))); })()";
    CHECK(std::stod(browser.value(off)) < 1e-9);
    // Against all rotations, by brute force: none has a larger variance than the first component.
    const double best = std::stod(browser.value(
        "(() => { const cloud = Array.from({length: 40}, (_, i) => [Math.sin(7 * i * i), Math.cos(i) + "
        "Math.sin(7 * i * i)]), variance = v => dot(v, v) / 40 - (v.reduce((a, b) => a + b) / 40) ** 2; "
        "const all = Array.from({length: 180}, (_, d) => variance(cloud.map(p => "
        "dot(p, [Math.cos(d * Math.PI / 180), Math.sin(d * Math.PI / 180)])))); "
        "return variance(principalComponents(cloud)[0]) / Math.max(...all); })()"));
    CHECK((best > 0.9999 && best < 1.001));
    // The nearest are by the angle, not the distance, and never oneself.
    const std::string rows = "[[1, 0], [10, 1], [0, 1], [-1, 0]]";
    CHECK(browser.value("[0, 1, 2, 3].map(i => nearest(" + rows + ", i, 2))") == "[[1,2],[0,2],[1,0],[2,1]]");
    CHECK(browser.value("nearest(" + rows + ", 0, 9).length") == "3");
    CHECK(browser.value("nearest([[0, 0], [1, 2]], 0, 5)") == "[1]");
    CHECK(browser.complaints() == "");
}
