"""Announcements of rows that a fault has damaged: where a rank says how many rows a peer gets and where their sums go, rank 1 says
something else. Programs are edited at level kernel, so that CPUs and GPUs run the same damage."""

import re

from edited import in_kernel

# What stands in place of the number of rows (1) or of the first row of their sums (0): negative, huge, too large by one, possible but wrong.
LEAST, MOST = -(2**31), 2**31 - 1
DAMAGES = [(field, value) for field in (0, 1) for value in (LEAST, -1, 0, 1, 7, 1 << 20, MOST)]


def damage(text, damages, culprit=1):
    """The program whose rank `culprit` announces damages[e - 1] in exchange e, and the truth in exchanges behind the last one. Exchanges
    of one layer are one to a call."""

    def edit(kernel):
        own = re.search(r"arith\.addi (%arg\d+), %", kernel)[1]
        epoch = re.search(r"(%\w+) = kernel\.epoch", kernel)[1]
        for field in (0, 1):
            store = re.search(rf"^( *)memref\.store (%\w+), (%\w+\[%arg\d+, %c{field}\] : memref<\d+x2xi32>)\n", kernel, re.M)
            indent, value, place = store.groups()
            lines = [f"%culprit{field} = arith.constant {culprit} : index", f"%guilty{field} = arith.cmpi eq, {own}, %culprit{field} : index"]
            for number, (where, wrong) in enumerate(damages):
                if where != field:
                    continue
                name = f"{field}_{number}"
                lines += [f"%wrong{name} = arith.constant {wrong} : i32", f"%number{name} = arith.constant {number + 1} : i32",
                          f"%now{name} = arith.cmpi eq, {epoch}, %number{name} : i32", f"%both{name} = arith.andi %now{name}, %guilty{field} : i1",
                          f"%said{name} = arith.select %both{name}, %wrong{name}, {value} : i32"]
                value = f"%said{name}"
            lines.append(f"memref.store {value}, {place}")
            kernel = kernel.replace(store[0], "".join(f"{indent}{line}\n" for line in lines), 1)
        return kernel

    return in_kernel("announce_rows", edit, text)
