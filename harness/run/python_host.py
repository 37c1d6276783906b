"""python_host.py MODULE: the process in which a Python target runs. Started by Worker, never by hand: it speaks harness/run/protocol.h over
descriptors 3, 4 and 5. It needs nothing but NumPy; the offsets below are those of protocol.h."""

from __future__ import annotations

import ctypes
import importlib.util
import mmap
import os
import resource
import signal
import struct
import sys
import time
import traceback
from typing import Any

SEGMENT_FD, COMMAND_FD, REPLY_FD = 3, 4, 5
MAGIC, VERSION = b"NFWORKER", 1
HEADER_BYTES, DESCRIPTOR_BYTES = 4096, 512
OK, UNSUPPORTED, REJECTED = 0, 1, 2
IDLE = 0xFFFFFFFF

HEADER = struct.Struct("<8sIIIIIIqQQ")  # magic version count first current sequence parent_pid started_ns total_bytes memory_bytes
PROGRESS = struct.Struct("<IIIq")  # current sequence parent_pid started_ns, at 20
RANGE = struct.Struct("<II")  # count first, at 12
WORD = struct.Struct("<I")
RECORD = struct.Struct("<Q")  # Descriptor.record
RESULT = struct.Struct("<IIq")  # Descriptor.status reserved nanoseconds, at 8
RECORD_HEAD = struct.Struct("<IHH")  # CallRecord.bytes input_count output_count
DATA_AT, OP_AT = 8, 136  # CallRecord.data, .op
CALL = struct.Struct("<32sII")  # op param_count reserved
TENSOR = struct.Struct("<24sBBBBi8q8q")  # name present dtype type_code bits rank shape strides
PARAM = struct.Struct("<24siidq24s")  # name kind reserved number integer text
TEXT_AT, MESSAGE_AT, MESSAGE_BYTES = 56, 24, 488


def text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode()


def one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def limit_process(parent: int, memory_bytes: int) -> None:
    """Ends with its parent, leaves no core files, and takes no more memory than it was given."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:  # it died before the line above
        os._exit(0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_bytes:
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    for fd in (SEGMENT_FD, COMMAND_FD, REPLY_FD):
        os.set_inheritable(fd, False)


def load(path: str) -> str:
    """Imports the target and gives its version."""
    import normfuzz_target

    folder, file = os.path.split(os.path.abspath(path))
    sys.path.append(folder)
    sys.dont_write_bytecode = True  # nothing beside the author's file
    name = "normfuzz_module_" + os.path.splitext(file)[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    if not normfuzz_target.functions:
        raise ImportError(f"{file}: no function with @op(...), expected one for each op")
    return normfuzz_target.version_text()


def storage_types(numpy: Any) -> list[Any]:
    """NumPy's types for f64, f32, f16, bf16."""
    try:
        from ml_dtypes import bfloat16

        brain = numpy.dtype(bfloat16)
    except ImportError:
        brain = numpy.dtype(numpy.uint16)
    return [numpy.dtype(numpy.float64), numpy.dtype(numpy.float32), numpy.dtype(numpy.float16), brain]


class Form:
    """What all cases of one op, one set of shapes and one set of parameters share, read from a call record once."""

    def __init__(self, record: bytes, input_count: int, output_count: int, types: list[Any]):
        from normfuzz_target import Binding

        op, param_count, _ = CALL.unpack_from(record)
        at = CALL.size
        tensors = []
        for _ in range(input_count + output_count):
            name, present, dtype, _, _, rank, *extents = TENSOR.unpack_from(record, at)
            at += TENSOR.size
            item = types[dtype].itemsize
            layout = (tuple(extents[:rank]), types[dtype], tuple(item * s for s in extents[8 : 8 + rank]))
            tensors.append((text(name), bool(present), layout))
        parameters = {}
        for _ in range(param_count):
            name, kind, _, number, integer, string = PARAM.unpack_from(record, at)
            at += PARAM.size
            parameters[text(name)] = (number, integer, text(string))[kind]
        inputs, outputs = tensors[:input_count], tensors[input_count:]
        self.binding = Binding(text(op), [t[:2] for t in inputs], [t[0] for t in outputs], parameters)
        self.arguments = {**self.binding.absent, **parameters}
        self.inputs = [(i, name, *layout) for i, (name, present, layout) in enumerate(inputs) if present]
        keys = self.binding.output_keys
        self.outputs = [(input_count + i, keys[i], *layout) for i, (_, _, layout) in enumerate(outputs)]
        self.offsets = struct.Struct(f"<{len(tensors)}Q")


class Host:
    def __init__(self, memory: mmap.mmap, parent: int):
        import numpy
        import normfuzz_target

        self.memory, self.parent = memory, parent
        self.sequence = 0
        self.array = numpy.ndarray
        self.types = storage_types(numpy)
        self.unsupported, self.rejected = normfuzz_target.Unsupported, normfuzz_target.Rejected
        self.forms: dict[bytes, Form] = {}

    def form(self, record: int) -> Form:
        memory = self.memory
        size, input_count, output_count = RECORD_HEAD.unpack_from(memory, record)
        key = memory[record + OP_AT : record + size]
        form = self.forms.get(key)
        if form is None:
            form = Form(key, input_count, output_count, self.types)
            if len(self.forms) >= 4096:  # random shapes seldom repeat: keeps the memory of a long campaign level
                self.forms.clear()
            self.forms[key] = form
        return form

    def call(self, form: Form, record: int) -> None:
        memory, array = self.memory, self.array
        at = form.offsets.unpack_from(memory, record + DATA_AT)
        arguments = form.arguments.copy()
        for index, name, shape, dtype, strides in form.inputs:
            arguments[name] = array(shape, dtype, memory, at[index], strides)
        outputs = []
        for index, key, shape, dtype, strides in form.outputs:
            output = array(shape, dtype, memory, at[index], strides)
            outputs.append(output)
            if key is not None:
                arguments[key] = output
        form.binding.store(form.binding.function(**arguments), outputs)

    def run_slot(self, slot: int) -> None:
        memory = self.memory
        descriptor = HEADER_BYTES + slot * DESCRIPTOR_BYTES
        (record,) = RECORD.unpack_from(memory, descriptor)
        self.sequence += 1
        started = time.monotonic_ns()
        PROGRESS.pack_into(memory, 20, slot, self.sequence & 0xFFFFFFFF, self.parent, started)
        try:
            self.call(self.form(record), record)
        except self.unsupported as error:
            self.finish(descriptor, UNSUPPORTED, started, str(error))
        except self.rejected as error:
            self.finish(descriptor, REJECTED, started, str(error))
        except Exception as error:  # the author's own mistakes too: the log has the traceback
            traceback.print_exc()
            self.finish(descriptor, REJECTED, started, one_line(error))
        else:
            RESULT.pack_into(memory, descriptor + 8, OK, 0, time.monotonic_ns() - started)

    def finish(self, descriptor: int, status: int, started: int, message: str) -> None:
        encoded = message.encode()[: MESSAGE_BYTES - 1] + b"\0"
        at = descriptor + MESSAGE_AT
        self.memory[at : at + len(encoded)] = encoded
        RESULT.pack_into(self.memory, descriptor + 8, status, 0, time.monotonic_ns() - started)

    def serve(self) -> None:
        while os.read(COMMAND_FD, 1) == b"g":
            count, first = RANGE.unpack_from(self.memory, 12)
            for slot in range(first, count):
                self.run_slot(slot)
            WORD.pack_into(self.memory, 20, IDLE)
            sys.stdout.flush()
            os.write(REPLY_FD, b"d")


def main() -> int:
    head = os.pread(SEGMENT_FD, HEADER.size, 0)
    magic, version, *_, parent, _, total, memory_bytes = HEADER.unpack(head)
    if (magic, version) != (MAGIC, VERSION):
        print("python_host.py: descriptor 3 is no shared memory of this version; this program is started by normfuzz", file=sys.stderr)
        return 2
    memory = mmap.mmap(SEGMENT_FD, total)
    limit_process(parent, memory_bytes)
    try:
        answer, host, status = load(sys.argv[1]), Host(memory, parent), b"r"
    except BaseException as error:  # SystemExit too: a target may end its own import
        traceback.print_exc()
        answer, host, status = one_line(error), None, b"f"
    encoded = answer.encode()[: HEADER_BYTES - TEXT_AT - 1] + b"\0"
    memory[TEXT_AT : TEXT_AT + len(encoded)] = encoded
    os.write(REPLY_FD, status)
    if host is None:
        return 1
    host.serve()
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # a framework's own threads must not keep the process
