# SPDX-License-Identifier: Apache-2.0
"""The environment in which tests start programs."""

import os

OWN = ("DETPROBE_",)
# What tunes the libraries of a machine.
TUNING = ("OMP_", "GOMP_", "KMP_", "OPENBLAS_", "GOTO_", "MKL_", "BLIS_", "ONEDNN_", "DNNL_", "CUBLAS", "CUDA_",
          "NVIDIA_", "NCCL_", "OMPI_", "MPIR_", "UCX_", "XLA_", "JAX_", "TF_", "TORCH", "PYTORCH_", "NPY_", "ATEN_",
          "MALLOC_", "GLIBC_TUNABLES", "PYTHONHASHSEED")


def _without(prefixes):
    return {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}


def plain():
    """For programs whose results the test knows: none of the machine's settings reaches them."""
    return _without(OWN + TUNING)


def real():
    """For real libraries: some compute right on this machine only as they are set here."""
    return _without(OWN)
