__version__ = "0.1.0"

from .distribution import *
from .estimators import Bernoulli, Categorical, Loss, estimators, prepare
from . import score_function, coupled  # they put their estimators into the registry, in this order
