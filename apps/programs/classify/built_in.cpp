#include "apps/programs/classify/built_in.h"

#include <map>
#include <set>

namespace plaingrad::classify {

using autograd::Rng;

namespace {

struct Intent {
    std::string label;
    std::vector<std::string> training, held_out;
};

const std::vector<Intent> kIntents = {
    {"alarm",
     {"set an alarm for {clock}", "wake me up at {clock}", "please wake me {day} at {clock}",
      "i need an alarm {day} at {clock}", "cancel my alarm for {clock}", "delete the alarm {day}"},
     {"can you wake me at {clock} {day}", "cancel the {clock} alarm", "new alarm for {day} please"}},
    {"calculation",
     {"what is {number} plus {number}", "how much is {number} times {number}", "divide {number} by {number}",
      "add {number} and {number}", "multiply {number} by {number}", "what is {number} minus {number}"},
     {"please add {number} plus {number}", "can you multiply {number} and {number}",
      "tell me how much {number} minus {number} is"}},
    {"joke",
     {"tell me a joke", "do you know a joke about {animal}", "make me laugh",
      "say something funny about {animal}", "i want to hear a good joke", "tell me something funny"},
     {"do you know something funny", "please tell a joke about {animal}", "say something to make me laugh"}},
    {"lights",
     {"turn on the lights in the {room}", "turn off the lights in the {room}", "switch off the {room} lamp",
      "turn the lights on please", "make the {room} brighter", "dim the lights in the {room}",
      "it is too dark in the {room}"},
     {"switch the {room} lights on", "can you dim the {room} lamp",
      "the {room} is too dark make it brighter"}},
    {"music",
     {"play some {music}", "play a song by {artist}", "i want to hear {music} music",
      "put on the new album by {artist}", "play {music} in the {room}", "next song please"},
     {"can you play the new song by {artist}", "put on some {music} music",
      "i want to listen to an album by {artist}"}},
    {"news",
     {"what is in the news", "read me the headlines", "what happened in {city} {day}",
      "any news about {topic}", "give me the latest news about {topic}",
      "tell me the headlines about {topic}"},
     {"what are the latest headlines", "what is the news from {city} {day}",
      "read the news about {topic} please"}},
    {"time",
     {"what time is it", "what time is it in {city}", "tell me the time", "how late is it in {city}",
      "what is the local time in {city}", "do you know what time it is"},
     {"can you tell me the local time", "the time in {city} please", "how late is it now"}},
    {"weather",
     {"what is the weather in {city}", "will it rain {day}", "how warm is it in {city}",
      "is it going to snow in {city}", "what is the weather like {day}", "do i need an umbrella {day}"},
     {"how is the weather in {city} {day}", "is it going to rain in {city}",
      "will i need an umbrella in {city} {day}"}},
};

// What can fill each slot. The last two are for the held-out sentences only.
const std::map<std::string, std::vector<std::string>> kSlots = {
    {"animal", {"cats", "dogs", "cows", "horses", "elephants", "penguins"}},
    {"artist", {"mozart", "nina simone", "the beatles", "bach", "edith piaf", "david bowie"}},
    {"city", {"paris", "london", "berlin", "tokyo", "new york", "rome", "madrid", "oslo"}},
    {"clock", {"seven", "8 am", "6:30", "noon", "half past nine", "5 pm", "7:45", "11 am"}},
    {"day",
     {"today", "tomorrow", "on monday", "on tuesday", "on friday", "on sunday", "on saturday",
      "on thursday"}},
    {"music", {"jazz", "rock", "classical", "piano", "folk", "dance"}},
    {"number", {"2", "7", "12", "25", "100", "three", "eight", "31", "90"}},
    {"room", {"kitchen", "bedroom", "living room", "bathroom", "hall", "garage"}},
    {"topic", {"football", "the election", "science", "the economy", "tennis", "space"}},
};

// A template with its {slots} filled at random.
std::string fill(const std::string& sentence, bool held_out, const Rng& rng) {
    std::string text;
    uint64_t draws = 0;
    for (std::size_t at = 0; at < sentence.size();) {
        const std::size_t open = std::min(sentence.find('{', at), sentence.size());
        text += sentence.substr(at, open - at);
        if (open == sentence.size())
            break;
        const std::size_t close = sentence.find('}', open);
        const std::vector<std::string>& values = kSlots.at(sentence.substr(open + 1, close - open - 1));
        const auto kept = static_cast<int64_t>(values.size()) - 2;
        const int64_t value = held_out ? kept + rng.below(draws++, 2) : rng.below(draws++, kept);
        text += values[static_cast<std::size_t>(value)];
        at = close + 1;
    }
    return text;
}

// Fills each template so many times, and keeps the distinct sentences.
std::vector<Example> sentences(const std::string& label, const std::vector<std::string>& templates,
                               bool held_out, uint64_t draws, const Rng& rng) {
    std::set<std::string> texts;
    for (const std::string& sentence : templates)
        for (uint64_t i = 0; i < draws; ++i)
            texts.insert(fill(sentence, held_out, rng.fork(sentence).fork(i)));
    std::vector<Example> examples;
    for (const std::string& text : texts)
        examples.push_back({label, text, "built in"});
    return examples;
}

}  // namespace

Corpus built_in_corpus(const Rng& rng) {
    Corpus corpus;
    const auto add = [](std::vector<Example>& to, const std::vector<Example>& more) {
        to.insert(to.end(), more.begin(), more.end());
    };
    for (const Intent& intent : kIntents) {
        add(corpus.training, sentences(intent.label, intent.training, false, 12, rng));
        add(corpus.held_out, sentences(intent.label, intent.held_out, true, 8, rng));
    }
    return corpus;
}

std::vector<std::string> built_in_labels() {
    std::vector<std::string> labels;
    for (const Intent& intent : kIntents)
        labels.push_back(intent.label);
    return labels;
}

}  // namespace plaingrad::classify
