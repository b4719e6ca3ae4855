// Disks that take no more: full ones, ones that may only be read, a limit on the size of files, a quota, and
// an output that nobody can write. The run ends with a line that says so, and resumes where there is room.
#if defined(__linux__)
#include <sys/mount.h>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "tests/trust/crashes/parts.h"

namespace plaingrad::trust {

namespace {

int64_t bytes_in(const Run& run) {
    int64_t sum = 0;
    for (const auto& [name, bytes] : run.files)
        sum += std::ssize(bytes);
    return sum;
}

// A file system of its own, of so many KiB.
class Disk {
public:
    explicit Disk(std::string path) : path_(std::move(path)) { std::filesystem::create_directory(path_); }
    ~Disk() {
#if defined(__linux__)
        if (mounted_)
            umount2(path_.c_str(), MNT_DETACH);
#endif
    }
    Disk(const Disk&) = delete;
    Disk& operator=(const Disk&) = delete;
    // False where this is not allowed.
    bool be(int64_t kib, bool read_only = false) {
#if defined(__linux__)
        const std::string size = "size=" + std::to_string(kib) + "k";
        const unsigned long flags =
            (mounted_ ? unsigned(MS_REMOUNT) : 0u) | (read_only ? unsigned(MS_RDONLY) : 0u);
        mounted_ = mount("none", path_.c_str(), "tmpfs", flags, size.c_str()) == 0 || mounted_;
        return mounted_;
#else
        return kib < 0 && read_only;
#endif
    }

private:
    std::string path_;
    bool mounted_ = false;
};

constexpr int64_t kRoom = 64 << 10;  // KiB: for everything

struct Case {
    const Runs& runs;
    const Run& run;
    autograd::Rng rng;
    std::string which;  // the kind, and the numbers that it was drawn with
    int64_t part(int64_t all) const { return rng.below(1, all) + 1; }
    // How the program ended with this error, and, where it has room again, what it left.
    void told(const Result& r, int error) const {
        runs.check_told(run, r, {std::strerror(error), "could not be written"}, which);
    }
    void left(const Result& r, const std::string& folder) const { runs.check_ended(run, r, folder, which); }
};

// A run with room for all, on a disk that was drawn a little too large, is followed by one with less.
bool full_disk(Case& c) {
    const std::string program = c.which;
    int64_t kib = c.part(8 + bytes_in(c.run) / 1024);
    for (bool was_full = false; !was_full; kib = kib * 3 / 4) {
        const Folder all;
        Disk disk(all / "disk");
        if (!disk.be(std::max<int64_t>(1, kib)))
            return false;
        if (kib < 1) {
            c.runs.damage.note(Wrong::died, program, "no disk was too small for it");
            return true;
        }
        c.which = program + ", full disk of " + std::to_string(kib) + " KiB";
        const std::string folder = all / "disk/run";
        const Result r = c.runs.ran(c.run.program.name, c.runs.begin(c.run, folder));
        was_full = !is_usual_end(c.run, r);
        c.told(r, ENOSPC);
        disk.be(kRoom);
        c.left(r, folder);
    }
    return true;
}

bool read_only(Case& c) {
    const Folder all;
    Disk disk(all / "disk");
    if (!disk.be(kRoom))
        return false;
    c.which += ", a disk that may only be read";
    const std::string folder = all / "disk/run";
    c.runs.ran(c.run.program.name, joined(c.runs.begin(c.run, folder), {"--stop-after", "2"}));
    const Contents before = contents(folder);
    disk.be(kRoom, true);
    const Result r = c.runs.ran(c.run.program.name, c.runs.resume(c.run, folder));
    c.told(r, EROFS);
    if (r.status != 1 || contents(folder) != before)
        c.runs.damage.note(Wrong::died, c.which, "it did not refuse: " + r.err);
    disk.be(kRoom);
    c.left(r, folder);
    return true;
}

// (What a program says is kept in a file, too, and must fit in it.)
bool small_files(Case& c) {
    constexpr int64_t kSaid = 4 << 10;
    const Folder all;
    const int64_t largest = std::ssize(c.run.files.at("last.safetensors"));
    const int64_t limit = kSaid + c.part(std::max<int64_t>(1, largest - kSaid));
    c.which += ", files of at most " + std::to_string(limit) + " bytes";
    With with;
    with.largest_file = static_cast<rlim_t>(limit);
    const Result r = c.runs.ran(c.run.program.name, c.runs.begin(c.run, all / "run"), with);
    c.told(r, EFBIG);
    c.left(r, all / "run");
    return true;
}

// As a quota that is reached: from some write on, all fail. (A run that needs fewer writes than were drawn is
// followed by one with a smaller quota.)
bool quota(Case& c) {
    if (!c.runs.can_fail())
        return false;
    std::atomic<int64_t> happened = 0;
    for (int64_t n = c.part(c.run.calls.disk); n > 0 && happened == 0; n = n * 3 / 4) {
        const Folder all;
        const Fault fault = {"disk", n, std::to_string(EDQUOT), "on"};
        const Words words = c.runs.begin(c.run, all / "run");
        c.which = c.runs.line(c.run.program.name, words, fault);
        const Result r = c.runs.ran(c.run.program.name, words, fault, happened);
        c.told(r, EDQUOT);
        c.left(r, all / "run");
    }
    if (happened == 0)
        c.runs.damage.note(Wrong::died, c.which, "no quota was too small for it");
    return true;
}

// A run that prints what it has learned, and `info`, which every program has. What could not be printed is an
// error.
bool full_output(Case& c) {
    const Folder all;
    const std::string& name = c.run.program.name;
    c.which += ", standard output on a full disk";
    const Result r = c.runs.ran(name, c.runs.begin(c.run, all / "run"), {.out = "/dev/full"});
    c.told(r, ENOSPC);
    if (!c.run.ended.out.empty() && is_usual_end(c.run, r))
        c.runs.damage.note(Wrong::died, c.which, "it has not noticed");
    c.left(r, all / "run");
    const Result info = c.runs.ran(name, {"info", all / "run"}, {.out = "/dev/full"});
    if (info.status != 1 || info.err.find("could not be written") == info.err.npos)
        c.runs.damage.note(Wrong::died, c.which + ", info",
                           "status " + std::to_string(info.status) + ": " + info.err);
    return true;
}

}  // namespace

void full_disks(const Instrument& trust, const Runs& runs) {
    struct Kind {
        const char *figure, *name;
        bool (*run)(Case& c);
    };
    const char *const disks = "crashes.full_disks", *const limits = "crashes.limits";
    const std::vector<Kind> kinds = {{disks, "full disk", full_disk},
                                     {disks, "read-only disk", read_only},
                                     {limits, "limit on the size of files", small_files},
                                     {limits, "quota", quota},
                                     {limits, "full output", full_output}};
    const auto programs = std::ssize(runs.all);
    const int64_t each = programs * trust.count(1, 4, 60);
    std::map<std::string, int64_t> all;
    std::set<std::string> skipped;
    for (const Kind& kind : kinds) {
        std::atomic<int64_t> done = 0;
        for_each_case(each, runs.damage, [&](int64_t i) {
            const Run& run = runs.all[static_cast<std::size_t>(i % programs)];
            Case c = {runs, run, trust.rng().fork(kind.name).fork(static_cast<uint64_t>(i)),
                      run.program.name};
            done += kind.run(c) ? 1 : 0;
        });
        all[kind.figure] += done;
        if (done == 0 && skipped.insert(kind.figure).second)
            std::printf("skipped %s no %s can be made here\n", kind.figure, kind.name);
    }
    for (const auto& [figure, cases] : all)
        if (!skipped.contains(figure))
            trust.figure(figure, static_cast<double>(cases));
}

}  // namespace plaingrad::trust
