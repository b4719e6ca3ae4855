#include "tests/trust/programs/reference.h"

namespace plaingrad::trust {
namespace {

// One format for both directions, so that they cannot differ.
struct Writer {
    std::FILE* file;
    template <class T>
    bool operator()(const T& x) const {
        return std::fwrite(&x, sizeof x, 1, file) == 1;
    }
    bool operator()(const std::string& x) const { return bytes(x); }
    bool operator()(const std::vector<double>& x) const { return bytes(x); }

private:
    template <class List>
    bool bytes(const List& x) const {
        const uint64_t size = x.size();
        return (*this)(size) && std::fwrite(x.data(), sizeof x[0], x.size(), file) == x.size();
    }
};

struct Reader {
    std::FILE* file;
    template <class T>
    bool operator()(T& x) const {
        return std::fread(&x, sizeof x, 1, file) == 1;
    }
    bool operator()(std::string& x) const { return bytes(x); }
    bool operator()(std::vector<double>& x) const { return bytes(x); }

private:
    template <class List>
    bool bytes(List& x) const {
        uint64_t size = 0;
        if (!(*this)(size))
            return false;
        x.resize(size);
        return std::fread(x.data(), sizeof x[0], x.size(), file) == x.size();
    }
};

template <class Reference, class Transfer>
bool pass(Reference& r, const Transfer& each) {
    return each(r.seed) && each(r.branches) && each(r.has_bounds) && each(r.compared_plain) &&
           each(r.compared_slope) && each(r.plain) && each(r.slope) && each(r.memory) && each(r.errors);
}

template <class Expected, class Transfer>
bool pass_one(Expected& e, const Transfer& each) {
    return each(e.node) && each(e.is_gradient) && each(e.deviation) && each(e.x);
}

}  // namespace

void Reference::write(std::FILE* to) const {
    const Writer each{to};
    pass(*this, each);
    each(uint64_t(all.size()));
    for (const Expected& e : all)
        pass_one(e, each);
    std::fflush(to);
}

bool Reference::read(std::FILE* from) {
    const Reader each{from};
    uint64_t count = 0;
    if (!pass(*this, each) || !each(count))
        return false;
    all.resize(count);
    for (Expected& e : all)
        if (!pass_one(e, each))
            return false;
    return true;
}

}  // namespace plaingrad::trust
