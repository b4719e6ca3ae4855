#include "tests/apps/browser.h"

#include <poll.h>

#include "tests/apps/running.h"

namespace plaingrad::tests {

using nn::checkpoint::Json;
using nn::checkpoint::quote;

std::string chromium() {
    std::istringstream folders(std::getenv("PATH") != nullptr ? std::getenv("PATH") : "");
    for (std::string folder; std::getline(folders, folder, ':');)
        for (const char* const name : {"chromium", "chromium-browser", "google-chrome"})
            if (access((folder + "/" + name).c_str(), X_OK) == 0)
                return folder + "/" + name;
    return "";
}

Browser::Browser() {
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0)
        throw std::runtime_error("no pipe");
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, to[0], 3);  // Chromium reads from descriptor 3 and writes to 4
    posix_spawn_file_actions_adddup2(&files, from[1], 4);
    process_ = spawn(
        {chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
         "--no-first-run", "--disable-extensions", "--disable-background-networking", "--hide-scrollbars",
         "--disable-dev-shm-usage", "--user-data-dir=" + (profile_ / "profile"), "about:blank"},
        chromium(), {}, files);
    posix_spawn_file_actions_destroy(&files);
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = from[0];
    const Json target = send("Target.createTarget", R"("url":"about:blank")")["targetId"];
    session_ =
        send("Target.attachToTarget", R"("flatten":true,"targetId":)" + quote(target.text()))["sessionId"]
            .text();
    for (const char* const domain : {"Page", "Runtime", "Log", "Network"})
        send(std::string(domain) + ".enable");
}

Browser::~Browser() {
    close(to_);
    close(from_);
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
}

std::string Browser::receive() {
    for (;;) {
        if (const std::size_t end = buffer_.find('\0'); end != buffer_.npos) {
            const std::string message = buffer_.substr(0, end);
            buffer_.erase(0, end + 1);
            return message;
        }
        pollfd input = {from_, POLLIN, 0};
        char bytes[1 << 16];
        const ssize_t n = poll(&input, 1, 60'000) == 1 ? read(from_, bytes, sizeof bytes) : -1;
        if (n <= 0)
            throw std::runtime_error("the browser does not answer");
        buffer_.append(bytes, static_cast<std::size_t>(n));
    }
}

Json Browser::send(const std::string& method, const std::string& parameters) {
    std::string message = R"({"id":)" + std::to_string(++id_) + R"(,"method":")" + method +
                          R"(","params":{)" + parameters + "}";
    message += session_.empty() ? "}" : R"(,"sessionId":")" + session_ + "\"}";
    for (std::size_t done = 0; done <= message.size();) {  // its final 0 is the end of the message
        const ssize_t n = write(to_, message.c_str() + done, message.size() + 1 - done);
        if (n <= 0)
            throw std::runtime_error("the browser has gone");
        done += static_cast<std::size_t>(n);
    }
    for (;;) {
        const std::string said = receive();
        const Json answer(said, "the browser's answer");
        const std::string event = answer["method"].text_or("");
        if (event == "Runtime.consoleAPICalled" || event == "Runtime.exceptionThrown" ||
            event == "Log.entryAdded")
            console_.push_back(said);
        if (event == "Network.requestWillBeSent") {
            const std::string page = answer["params"]["documentURL"].text(),
                              url = answer["params"]["request"]["url"].text();
            if (!page.starts_with("about:") && url != page)
                requests_.push_back(url);
        }
        if (event.empty() && answer["id"].integer() == id_)
            return answer["result"];
    }
}

void Browser::open(const std::string& path, int width, int height, bool dark, const std::string& fragment) {
    send("Page.navigate", R"("url":"about:blank")");
    console_.clear();
    requests_.clear();
    send("Emulation.setDeviceMetricsOverride",
         autograd::join(R"("deviceScaleFactor":1,"mobile":false,"width":)", width, R"(,"height":)", height));
    send("Emulation.setEmulatedMedia",
         autograd::join(R"("features":[{"name":"prefers-color-scheme","value":")", dark ? "dark" : "light",
                        "\"}]"));
    const std::string url = "file://" + std::filesystem::absolute(path).string() + fragment;
    send("Page.navigate", "\"url\":" + quote(url));
    for (int i = 0; i < 600 && value("document.readyState + location.protocol") != "completefile:"; ++i)
        usleep(20'000);
}

std::string Browser::value(const std::string& expression) {
    const std::string wrapped = "(() => { try { const v = (" + expression +
                                "); return typeof v === 'object' ? JSON.stringify(v) : String(v); } "
                                "catch (e) { return 'thrown: ' + e.message; } })()";
    const Json answer = send("Runtime.evaluate", "\"expression\":" + quote(wrapped));
    return answer.is_null() ? "" : answer["result"]["value"].text_or("");  // null: the page was not ready
}

std::string Browser::text(const std::string& selector) {
    return value("document.querySelector(" + quote(selector) + ").textContent");
}

std::string Browser::sections() {
    return value("[...document.querySelectorAll('section')].map(s => s.id).join(' ')");
}

std::string Browser::complaints() {
    std::string all;
    for (const std::vector<std::string>* const some : {&console_, &requests_})
        for (const std::string& one : *some)
            all += one + "\n";
    const std::string overflow = value("document.documentElement.scrollWidth - innerWidth");
    return all + (overflow == "0" ? "" : overflow + " pixels wider than the window");
}

void Browser::point_at(const std::string& selector) {
    const std::string at =
        value("(() => { const e = document.querySelector(" + quote(selector) +
              "); e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect(); "
              "return (b.left + b.width / 2) + ',\"y\":' + (b.top + b.height / 2); })()");
    send("Input.dispatchMouseEvent", R"("type":"mouseMoved","x":)" + at);
}

void Browser::press(const std::string& key) {
    const int code = key == "ArrowLeft" ? 37 : key == "ArrowRight" ? 39 : 9;
    for (const char* const type : {"keyDown", "keyUp"})
        send("Input.dispatchKeyEvent",
             autograd::join(R"("type":")", type, R"(","key":")", key, R"(","code":")", key,
                            R"(","windowsVirtualKeyCode":)", code));
}

}  // namespace plaingrad::tests
