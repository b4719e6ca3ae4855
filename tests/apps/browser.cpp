#include "tests/apps/browser.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "nn/checkpoint/json.h"

namespace plaingrad::tests {
namespace {

using nn::checkpoint::quote;

// What follows "name": in a message; enough for the few values that are read here.
std::string after(const std::string& message, const std::string& name) {
    const std::size_t at = message.find("\"" + name + "\":");
    return at == message.npos ? "" : message.substr(at + name.size() + 3);
}
// The string there. It has no escapes: it is an address, a session's number, or was encoded by `value`.
std::string text_after(const std::string& message, const std::string& name) {
    const std::string rest = after(message, name);
    return rest.starts_with('"') ? rest.substr(1, rest.find('"', 1) - 1) : "";
}

std::string decoded(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '%') {
            out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
            i += 2;
        } else {
            out += text[i];
        }
    return out;
}

}  // namespace

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
    const std::string program = chromium(), data = "--user-data-dir=" + (profile_ / "profile");
    process_ = fork();
    if (process_ == 0) {
        // Chromium reads from descriptor 3 and writes to 4.
        const int in = fcntl(to[0], F_DUPFD, 10), out = fcntl(from[1], F_DUPFD, 10);
        dup2(in, 3);
        dup2(out, 4);
        const int nowhere = ::open("/dev/null", O_RDWR);
        dup2(nowhere, STDERR_FILENO);
        dup2(nowhere, STDOUT_FILENO);
        execl(program.c_str(), program.c_str(), "--headless", "--no-sandbox", "--disable-gpu",
              "--remote-debugging-pipe", "--no-first-run", "--disable-extensions",
              "--disable-background-networking", "--hide-scrollbars", "--disable-dev-shm-usage", data.c_str(),
              "about:blank", nullptr);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = from[0];
    const std::string target = text_after(send("Target.createTarget", R"("url":"about:blank")"), "targetId");
    session_ = text_after(send("Target.attachToTarget", R"("flatten":true,"targetId":")" + target + "\""),
                          "sessionId");
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

std::string Browser::send(const std::string& method, const std::string& parameters) {
    const std::string id = std::to_string(++id_);
    std::string message = R"({"id":)" + id + R"(,"method":")" + method + R"(","params":{)" + parameters + "}";
    message += session_.empty() ? "}" : R"(,"sessionId":")" + session_ + "\"}";
    for (std::size_t done = 0; done <= message.size();) {  // its final 0 is the end of the message
        const ssize_t n = write(to_, message.c_str() + done, message.size() + 1 - done);
        if (n <= 0)
            throw std::runtime_error("the browser has gone");
        done += static_cast<std::size_t>(n);
    }
    for (;;) {
        const std::string answer = receive();
        const std::string event = text_after(answer, "method");
        if (event == "Runtime.consoleAPICalled" || event == "Runtime.exceptionThrown" ||
            event == "Log.entryAdded")
            console_.push_back(answer);
        const std::string url = decoded(text_after(after(answer, "request"), "url"));
        if (event == "Network.requestWillBeSent" &&
            !text_after(answer, "documentURL").starts_with("about:") && url != page_)
            requests_.push_back(url);
        if (event.empty() && answer.starts_with("{\"id\":" + id + ","))
            return answer;
    }
}

void Browser::open(const std::string& path, int width, int height, bool dark, const std::string& fragment) {
    send("Page.navigate", R"("url":"about:blank")");
    console_.clear();
    requests_.clear();
    send("Emulation.setDeviceMetricsOverride", R"("deviceScaleFactor":1,"mobile":false,"width":)" +
                                                   std::to_string(width) + R"(,"height":)" +
                                                   std::to_string(height));
    send("Emulation.setEmulatedMedia",
         std::string(R"("features":[{"name":"prefers-color-scheme","value":")") + (dark ? "dark" : "light") +
             "\"}]");
    page_ = "file://" + std::filesystem::absolute(path).string();
    send("Page.navigate", "\"url\":" + quote(page_ + fragment));
    for (int i = 0; i < 600 && value("document.readyState + location.protocol") != "completefile:"; ++i)
        usleep(20'000);
}

std::string Browser::value(const std::string& expression) {
    const std::string wrapped =
        "(() => { try { const v = (" + expression +
        "); return encodeURIComponent(typeof v === 'object' ? JSON.stringify(v) : String(v)); } "
        "catch (e) { return 'thrown: ' + encodeURIComponent(e.message); } })()";
    return decoded(text_after(send("Runtime.evaluate", "\"expression\":" + quote(wrapped)), "value"));
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
        send("Input.dispatchKeyEvent", std::string(R"("type":")") + type + R"(","key":")" + key +
                                           R"(","code":")" + key + R"(","windowsVirtualKeyCode":)" +
                                           std::to_string(code));
}

}  // namespace plaingrad::tests
