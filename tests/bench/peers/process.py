"""A program that does steps on request and is stopped (SIGSTOP) in between: threads that wait in a loop would take the
processors of the others."""
import atexit
import os
import signal
import subprocess

TURN = 0.4  # seconds that a turn should take
OF_LIBRARIES = ("OPENBLAS_", "OMP_", "KMP_", "MKL_", "MALLOC_", "ATEN_", "CT2_")


class Ended(Exception):
    """A program has ended by itself, for example because there was no memory for it."""


class Process:
    def __init__(self, command, environment):
        env = {k: v for k, v in os.environ.items() if not k.startswith(OF_LIBRARIES)}
        env.update(environment)
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)  # a stopped process would never end
        self.answer()  # "ready 123.4", the memory before there is a model
        self.memory = 0.0
        first = 1e-3 * self.ask(1)
        self.steps = max(1, min(200, round(TURN / first)))
        self.seconds = first * self.steps
        self.pause()

    def answer(self):
        line = self.process.stdout.readline()
        if not line.endswith("\n"):  # nothing, or a part of an answer
            raise Ended(" ".join(self.process.args) + " has ended")
        return line.split()

    def ask(self, steps):
        try:
            os.write(self.process.stdin.fileno(), f"{steps}\n".encode())  # without a buffer that would keep it
        except BrokenPipeError:
            pass  # it has ended, and so has what it answers
        milliseconds, self.memory = map(float, self.answer())
        return milliseconds

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def turn(self):
        """Milliseconds of a step."""
        self.process.send_signal(signal.SIGCONT)
        milliseconds = self.ask(self.steps)
        self.pause()
        return milliseconds

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.wait()
        atexit.unregister(self.process.kill)
