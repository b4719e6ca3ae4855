#include "tests/trust/words/commands.h"

#include <filesystem>
#include <sstream>

#include "autograd/base/check.h"
#include "tests/trust/words/process.h"

namespace plaingrad::trust::words {
namespace {

const std::string kTiny = " --layers 1 --heads 1 --d-model 8";

}  // namespace

const std::vector<std::string>& reading_commands() {
    static const std::vector<std::string> all = {
        "report FILE",
        "report $lm FILE --out $new",
        "report $lm/FILE=log.csv",
        "report $lm/FILE=report.jsonl",
        "report $lm/FILE=last.safetensors",

        "reverse_task --resume FILE",
        "reverse_task --resume $reverse/FILE=last.safetensors",
        "reverse_task info FILE",
        "reverse_task info $reverse/FILE=last.safetensors",
        "tasks --resume FILE",
        "tasks info FILE",

        "toy_translate --data FILE hello --epochs 1",
        "toy_translate --data $pairs --epochs 1 --beam 1 < FILE",
        "toy_translate --resume FILE",
        "toy_translate info FILE",

        "char_lm train FILE --layers 1 --heads 1 --d-model 8 --context 8 --steps 1 --batch 2",
        "char_lm train FILE --layers 1 --heads 1 --d-model 8 --context 8 --steps 1 --batch 2 --bytes",
        "char_lm train FILE --layers 1 --heads 1 --d-model 8 --context 64 --steps 1 --batch 2 --lines",
        "char_lm train $text FILE --layers 1 --heads 1 --d-model 8 --context 8 --steps 1 --batch 2",
        "char_lm train --resume FILE",
        "char_lm train --resume $lm/FILE=last.safetensors",
        "char_lm train --resume $lm/FILE=log.csv",
        "char_lm sample FILE --tokens 3",
        "char_lm sample $lm/FILE=model.safetensors --tokens 3",
        "char_lm sample $lines FILE --count 1 --tokens 3",
        "char_lm eval FILE $text",
        "char_lm eval $lm FILE",
        "char_lm eval $lines FILE",
        "char_lm info FILE",

        "classify train FILE --layers 1 --heads 1 --d-model 8 --epochs 1",
        "classify train $labels --validation FILE --layers 1 --heads 1 --d-model 8 --epochs 1",
        "classify train $labels --from FILE --epochs 1",
        "classify train $labels --from $bert/FILE=config.json --epochs 1",
        "classify train FILE --from $bert --epochs 1 --pair",
        "classify train --resume FILE",
        "classify predict FILE text",
        "classify predict $classes < FILE",
        "classify predict $bert_classes < FILE",
        "classify predict $bert_classes --pair < FILE",
        "classify predict $bert_classes/FILE=model.safetensors text",
        "classify eval FILE $labels",
        "classify eval $classes FILE",
        "classify eval $bert_classes FILE",
        "classify info FILE",

        "fill FILE text",
        "fill $bert < FILE",
        "fill $bert/FILE=config.json [MASK]",
        "fill $bert/FILE=model.safetensors [MASK]",
        "fill $bert/FILE=vocab.txt [MASK]",
        "fill $bert/FILE=tokenizer.json [MASK]",
        "fill $bert/FILE=tokenizer_config.json [MASK]",
        "fill train FILE $text --steps 1 --save $new",
        "fill train $bert FILE --steps 1 --batch 2 --save $new",
        "fill train --resume FILE",
        "fill new $new FILE --layers 1 --heads 1 --d-model 8 --context 16",
        "fill info FILE",

        "generate FILE --prompt a --tokens 3",
        "generate $gpt2 --tokens 3 < FILE",
        "generate $lm --tokens 3 < FILE",
        "generate $gpt2/FILE=config.json --prompt a --tokens 3",
        "generate $llama/FILE=config.json --prompt a --tokens 3",
        "generate $gpt2/FILE=model.safetensors --prompt a --tokens 3",
        "generate $gpt2/FILE=model.safetensors.index.json --prompt a --tokens 3",
        "generate $gpt2/FILE=vocab.json --prompt a --tokens 3",
        "generate $gpt2/FILE=merges.txt --prompt a --tokens 3",
        "generate $gpt2/FILE=tokenizer.json --prompt a --tokens 3",
        "generate $gpt2/FILE=tokenizer_config.json --prompt a --tokens 3",
        "generate $gpt2/FILE=generation_config.json --prompt a --tokens 3",
        "generate score FILE $text",
        "generate score $gpt2 FILE",
        "generate score $gpt2 FILE --bytes",
        "generate train FILE $text --steps 1 --save $new",
        "generate train $gpt2 FILE --steps 1 --batch 2 --context 8 --save $new",
        "generate train $gpt2 FILE --steps 1 --batch 2 --context 8 --bytes --save $new",
        "generate train --resume FILE",
        "generate new $new FILE --layers 1 --heads 1 --d-model 8 --context 16 --vocabulary 260",
        "generate new $new FILE --layers 1 --heads 1 --d-model 8 --context 16 --vocabulary 260 --bytes",
        "generate info FILE",

        "translate train FILE --layers 1 --heads 1 --d-model 8 --d-ff 8 --merges 5 --steps 1 --save $new",
        "translate train FILE $target --layers 1 --heads 1 --d-model 8 --d-ff 8 --merges 5 --steps 1 --save "
        "$new",
        "translate train $source FILE --layers 1 --heads 1 --d-model 8 --d-ff 8 --merges 5 --steps 1 --save "
        "$new",
        "translate train $pairs --validation FILE --layers 1 --heads 1 --d-model 8 --d-ff 8 --steps 1 --save "
        "$new",
        "translate train $pairs --codes FILE --layers 1 --heads 1 --d-model 8 --d-ff 8 --steps 1 --save $new",
        "translate train FILE --check-data",
        "translate train FILE --pieces bytes --layers 1 --heads 1 --d-model 8 --d-ff 8 --merges 5 --steps 1 "
        "--save $new",
        "translate train --resume FILE",
        "translate run FILE $source",
        "translate run $translator FILE",
        "translate run $translator < FILE",
        "translate run $translator/FILE=model.safetensors $source",
        "translate score FILE $pairs",
        "translate score $translator FILE",
        "translate score $translator FILE $target",
        "translate score $translator $source FILE",
        "translate info FILE",
        "translate learn-bpe FILE --merges 5",
    };
    return all;
}

const std::vector<std::string>& writing_commands() {
    static const std::vector<std::string> all = {
        "report $lm --out PLACE",
        "reverse_task --save PLACE --steps 1 --batch 2",
        "reverse_task --report PLACE --steps 1 --batch 2",
        "tasks copy --save PLACE --steps 1",
        "toy_translate hello --save PLACE --epochs 1",
        "char_lm train $text --save PLACE --layers 1 --heads 1 --d-model 8 --context 8 --steps 1 --batch 2",
        "char_lm train $text --report PLACE --layers 1 --heads 1 --d-model 8 --context 8 --steps 1 --batch 2",
        "classify train $labels --save PLACE --layers 1 --heads 1 --d-model 8 --epochs 1",
        "fill train $bert $text --save PLACE --steps 1 --batch 2",
        "fill new PLACE $text --layers 1 --heads 1 --d-model 8 --context 16",
        "generate train $gpt2 $text --save PLACE --steps 1 --batch 2 --context 8",
        "generate new PLACE $text --layers 1 --heads 1 --d-model 8 --context 16 --vocabulary 260",
        "translate train $pairs --save PLACE --layers 1 --heads 1 --d-model 8 --d-ff 8 --merges 5 --steps 1",
        "char_lm sample $lm --tokens 3 > PLACE",
        "translate run $translator $source > PLACE",
        "translate learn-bpe $source --merges 5 > PLACE",
        "report --help > PLACE",
    };
    return all;
}

std::vector<std::string> split(const std::string& line) {
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;)
        words.push_back(word);
    return words;
}

void make_fixtures(const tests::Folder& folder) {
    const std::string at = folder / "fixtures/";
    std::filesystem::create_directory(at);
    tests::put(at + "source", "one small cat\ntwo dogs run\nthe sun is up\na red house\n");
    tests::put(at + "target", "un petit chat\ndeux chiens courent\nle soleil est haut\nune maison rouge\n");
    tests::put(at + "pairs",
               "one small cat\tun petit chat\ntwo dogs run\tdeux chiens courent\n"
               "the sun is up\tle soleil est haut\na red house\tune maison rouge\n");
    tests::put(at + "labels", "good\tlovely day\ngood\tlovely\nbad\tawful day\nbad\tawful\n");
    std::string text;
    for (int i = 1; i <= 60; ++i)
        text += autograd::join("The cat sat on mat ", i, " & said ", i, ".\n");
    tests::put(at + "text", text);

    const std::string tiny = kTiny + " --threads 1";
    for (const std::string& line : {
             "char_lm train $text --save $lm --context 8 --steps 2 --batch 2" + tiny,
             "char_lm train $text --lines --save $lines --context 40 --steps 2 --batch 2" + tiny,
             "classify train $labels --validation 0 --save $classes --epochs 1" + tiny,
             "translate train $pairs --validation $pairs --save $translator --d-ff 8 --merges 10 --steps 2" +
                 tiny,
             "generate new $gpt2 $text --context 16 --vocabulary 300" + tiny,
             "generate new $llama $text --family llama --context 16 --vocabulary 300 --heads 2 --layers 1 "
             "--d-model 8" +
                 std::string(),
             "fill new $bert $text --context 16 --vocabulary 100" + tiny,
             "classify train $labels --from $bert --validation 0 --save $bert_classes --epochs 1" +
                 std::string(),
             "reverse_task --save $reverse --d-ff 8 --batch 2 --steps 2" + tiny,
         }) {
        Start start{.words = split(line), .scratch = folder.path};
        for (std::string& word : start.words)
            if (word[0] == '$')
                word = at + word.substr(1);
        const Ended ended = run(start);
        const bool learns_nothing = start.words[0] == "reverse_task" && ended.status == 1;
        autograd::check(ended.status == 0 || learns_nothing, line, ": ", ended.err);
    }
}

}  // namespace plaingrad::trust::words
