// What classify learns from when it is given no file: what is asked of an assistant, as templates of
// sentences. The held-out ones are worded otherwise, and no slot is filled there as it was in training.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace plaingrad::classify {

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

// The last two ways to fill each slot are kept for the held-out sentences.
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

}  // namespace plaingrad::classify
