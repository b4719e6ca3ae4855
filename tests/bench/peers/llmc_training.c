// A training step of GPT-2 in karpathy/llm.c, in turn with bench_training: its train_gpt2.c, without main, under another
// one that makes random weights and does steps on request (turns.py). Two differences remain: llm.c does not clip
// gradients, which is less work, and has 47 ids more in its vocabulary, which is a thousandth more.
//
//     cc -Ofast -march=native -fopenmp -DOMP -I LLM.C llmc_training.c -lm && ./a.out BATCH LENGTH
#define TESTING
#include <train_gpt2.c>

static double peak_memory(void) {  // in MiB
    char line[256];
    double kib = 0;
    FILE* file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %lf", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib / 1024;
}

static uint64_t state = 1;
static float uniform(void) {  // in [-0.5, 0.5)
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (float)(state >> 40) / (1 << 24) - 0.5f;
}

// What gpt2_build_from_checkpoint does, without a file.
static void build(GPT2* model) {
    memset(model, 0, sizeof *model);
    model->config = (GPT2Config){.max_seq_len = 1024,
                                 .vocab_size = 50257,
                                 .padded_vocab_size = 50304,
                                 .num_layers = 12,
                                 .num_heads = 12,
                                 .channels = 768};
    fill_in_parameter_sizes(model->param_sizes, model->config);
    for (int i = 0; i < NUM_PARAMETER_TENSORS; ++i)
        model->num_parameters += model->param_sizes[i];
    model->params_memory = malloc_and_point_parameters(&model->params, model->param_sizes);
    for (size_t i = 0; i < model->num_parameters; ++i)
        model->params_memory[i] = 0.07f * uniform();  // of a deviation of 0.02, like GPT-2's
}

static void step(GPT2* model, int* text, int batch, int length, int t) {
    gpt2_forward(model, text, text + 1, (size_t)batch, (size_t)length);
    gpt2_zero_grad(model);
    gpt2_backward(model);
    gpt2_update(model, 1e-4f, 0.9f, 0.999f, 1e-8f, 0.0f, t);
}

int main(int argc, char** argv) {
    if (argc != 3)
        return 2;
    const int batch = atoi(argv[1]), length = atoi(argv[2]);
    FILE* answers = fdopen(dup(1), "w");
    dup2(2, 1);  // llm.c's own words go to standard error
    const double memory_before = peak_memory();
    GPT2 model;
    build(&model);
    int* text = (int*)mallocCheck((size_t)(batch * length + 1) * sizeof(int));
    for (int i = 0; i <= batch * length; ++i)
        text[i] = (int)((uniform() + 0.5f) * 50257);
    step(&model, text, batch, length, 1);
    fprintf(answers, "ready %.1f\n", memory_before);
    fflush(answers);

    for (int steps, t = 1; scanf("%d", &steps) == 1;) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int i = 0; i < steps; ++i)
            step(&model, text, batch, length, ++t);
        clock_gettime(CLOCK_MONOTONIC, &end);
        const double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
        fprintf(answers, "%.4f %.1f\n", 1e3 * seconds / steps, peak_memory());
        fflush(answers);
    }
    gpt2_free(&model);
    return 0;
}
