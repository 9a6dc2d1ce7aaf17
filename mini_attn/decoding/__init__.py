"""Running a decoder token by token, once for both backends: loops, checks and queues.

A backend says which decoder it means and what it makes of arrays; see
`mini_attn.numpy.decoding.generation`.
"""

from mini_attn.decoding.generation import Generation, check_decoder
from mini_attn.decoding.serving import Serving

__all__ = ["Generation", "Serving", "check_decoder"]
